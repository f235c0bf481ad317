import EndToEndTesting
import Postgres
import PostgresTesting

/// Reports the progress of a run, and aborts it when it stalls.
struct Progress {
    let installation: ChaosInstallation
    let postLog: PostLog
    let tally: FaultTally
    let isVerbose: Bool

    /// The longest time without an accepted or settled event while PostgreSQL is available; no fault explains more.
    private static let stallTimeout: Duration = .seconds(90)
    /// The same after the load, while every remaining event waits for a later attempt.
    private static let waitingStallTimeout: Duration = .seconds(900)
    /// The same while PostgreSQL is unavailable: it may have much WAL to replay.
    private static let outageStallTimeout: Duration = .seconds(600)

    /// Checks every second until the run ends, less often where counting takes long.
    func watch(while pacer: Pacer) async throws {
        let start = ContinuousClock.now
        var (last, faults) = (-1, [Fault: Int]())
        // Time without progress: with the server available, with every remaining event waiting, and with the server unavailable.
        var (still, waiting, away) = (Duration.zero, Duration.zero, Duration.zero)
        var rest = Duration.seconds(1)
        while !pacer.wasEnded {
            let lastCheck = ContinuousClock.now
            try await pause(rest)
            let (sums, begin) = (postLog.sums, ContinuousClock.now)
            let counts = await counts()
            rest = min(max(.seconds(1), (.now - begin) * 50), .seconds(10))
            if let counts, sums.accepted + counts.settled != last {
                last = sums.accepted + counts.settled
                (still, waiting, away) = (.zero, .zero, .zero)
            } else if let counts {
                let hasToWait = pacer.isOver && counts.ready > 0 && counts.overdue == 0
                if hasToWait { waiting += .now - lastCheck } else { still += .now - lastCheck }
            } else {
                away += .now - lastCheck
            }
            let now = tally.counts
            if isVerbose {
                let injected = now.filter { ![.senderAborted, .poisonAccepted].contains($0.key) }
                let new = injected.filter { $0.value != faults[$0.key] }.map(\.key.rawValue).sorted()
                let state = counts.map { "ready \($0.ready), overdue \($0.overdue), settled \($0.settled)" } ?? "PostgreSQL is unavailable"
                let seconds = start.duration(to: .now).components.seconds
                print("chaos \(seconds) s: accepted \(sums.accepted), retries \(sums.retries), \(state); \(new.joined(separator: ", "))")
            }
            faults = now
            guard still < Self.stallTimeout, waiting < Self.waitingStallTimeout, away < Self.outageStallTimeout else {
                let what = "no progress for \(still), \(waiting) with all events waiting, and \(away) with PostgreSQL unavailable"
                throw ProgramFailure(what: what, log: (await evidence() + [logs]).joined(separator: "\n"))
            }
        }
    }

    private var logs: String { installation.supervisors.map(\.tail).joined(separator: "\n") }

    private typealias Counts = (ready: Int, overdue: Int, settled: Int)

    /// Nil while the server is unavailable.
    private func counts() async -> Counts? {
        let rows = try? await installation.pair.sql.rows(
            """
            SELECT count(*), count(*) FILTER (WHERE run_at < clock_timestamp() - interval '5 seconds'),
                   (SELECT count(*) FROM appstore.outcomes)
            FROM appstore.inbox_queue
            """
        )
        return try? rows?.first?.decode((Int.self, Int.self, Int.self))
    }

    /// The waiting events, the batch markers and the sessions.
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
                lines += try await installation.pair.sql.values(question)
            } catch {
                lines.append("no answer: \(error)")
            }
        }
        return lines
    }
}
