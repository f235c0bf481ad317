import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting

/// Watches over a run: says how far it is, and ends it when nothing moves any more.
struct Progress {
    let site: Site
    let diary: Diary
    let tally: FaultTally
    let isVerbose: Bool

    /// Nothing was accepted and nothing settled for so long while PostgreSQL was there, which no fault explains.
    private static let patience: Duration = .seconds(90)
    /// The same when enough was accepted and each event that is left waits for a later attempt.
    private static let patienceWithWaiting: Duration = .seconds(900)
    /// The same while it was away: it may have much to replay.
    private static let patienceWithoutServer: Duration = .seconds(600)

    /// Looks every second, or less often where counting takes long, until the run ends.
    func watch(while pacer: Pacer) async throws {
        let start = ContinuousClock.now
        var (last, faults) = (-1, [Fault: Int]())
        // How long nothing has moved: while the server was there, while all that was left had to wait, and while the server was away.
        var (still, waiting, away) = (Duration.zero, Duration.zero, Duration.zero)
        var rest = Duration.seconds(1)
        while !pacer.wasEnded {
            let lastLook = ContinuousClock.now
            try await pause(rest)
            let (sums, begin) = (diary.sums, ContinuousClock.now)
            let counts = await counts()
            rest = min(max(.seconds(1), (.now - begin) * 50), .seconds(10))
            if let counts, sums.accepted + counts.settled != last {
                last = sums.accepted + counts.settled
                (still, waiting, away) = (.zero, .zero, .zero)
            } else if let counts {
                let hasToWait = pacer.isOver && counts.ready > 0 && counts.overdue == 0
                if hasToWait { waiting += .now - lastLook } else { still += .now - lastLook }
            } else {
                away += .now - lastLook
            }
            let now = tally.counts
            if isVerbose {
                let ours = now.filter { ![.senderAborted, .poisonTaken].contains($0.key) }
                let news = ours.filter { $0.value != faults[$0.key] }.map(\.key.rawValue).sorted()
                let state = counts.map { "ready \($0.ready), overdue \($0.overdue), settled \($0.settled)" } ?? "PostgreSQL is away"
                let seconds = start.duration(to: .now).components.seconds
                print("chaos \(seconds) s: accepted \(sums.accepted), retries \(sums.retries), \(state); \(news.joined(separator: ", "))")
            }
            faults = now
            guard still < Self.patience, waiting < Self.patienceWithWaiting, away < Self.patienceWithoutServer else {
                let what = "nothing has moved for \(still), \(waiting) while all had to wait, and \(away) while PostgreSQL was away"
                throw ProgramFailure(what: what, log: (await evidence() + [logs]).joined(separator: "\n"))
            }
        }
    }

    private var logs: String { site.slots.map(\.tail).joined(separator: "\n") }

    private typealias Counts = (ready: Int, overdue: Int, settled: Int)

    /// Nil while the server is away, which it is often.
    private func counts() async -> Counts? {
        let rows = try? await site.pair.books.rows(
            """
            SELECT count(*), count(*) FILTER (WHERE run_at < clock_timestamp() - interval '5 seconds'),
                   (SELECT count(*) FROM appstore.outcomes)
            FROM appstore.inbox_queue
            """
        )
        return try? rows?.first?.decode((Int.self, Int.self, Int.self))
    }

    /// What waits, what is marked, and who is at work.
    private func evidence() async -> [String] {
        let questions: [Statement] = [
            "SELECT 'waits: ' || r::text FROM appstore.inbox_queue AS r ORDER BY r.run_at LIMIT 50",
            "SELECT 'marked: ' || m::text FROM appstore.batch_markers AS m LIMIT 20",
            """
            SELECT concat_ws(' ', 'session:', pid, usename, client_port, state, wait_event_type, wait_event, backend_xid,
                             clock_timestamp() - xact_start, clock_timestamp() - state_change, left(query, 100))
            FROM pg_stat_activity WHERE backend_type = 'client backend'
            """,
        ]
        var lines: [String] = []
        for question in questions {
            do {
                lines += try await site.pair.books.values(question)
            } catch {
                lines.append("no answer: \(error)")
            }
        }
        return lines
    }
}
