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
    /// The same while it was away: it may have much to replay.
    private static let patienceWithoutServer: Duration = .seconds(600)

    /// Looks every second, or less often where counting takes long, until the run ends.
    func watch(while pacer: Pacer) async throws {
        let start = ContinuousClock.now
        var (last, faults) = (-1, [Fault: Int]())
        // How long nothing has moved, while the server was there and while it was away.
        var (still, away) = (Duration.zero, Duration.zero)
        var rest = Duration.seconds(1)
        while !pacer.wasEnded {
            let lastLook = ContinuousClock.now
            try await pause(rest)
            let (sums, begin) = (diary.sums, ContinuousClock.now)
            let counts = await counts()
            rest = min(max(.seconds(1), (.now - begin) * 50), .seconds(10))
            if let counts, sums.accepted + counts.settled != last {
                last = sums.accepted + counts.settled
                (still, away) = (.zero, .zero)
            } else if counts == nil {
                away += .now - lastLook
            } else {
                still += .now - lastLook
            }
            let now = tally.counts
            if isVerbose {
                let ours = now.filter { ![.senderAborted, .poisonTaken].contains($0.key) }
                let news = ours.filter { $0.value != faults[$0.key] }.map(\.key.rawValue).sorted()
                let state = counts.map { "ready \($0.ready), settled \($0.settled)" } ?? "PostgreSQL is away"
                let seconds = start.duration(to: .now).components.seconds
                print("chaos \(seconds) s: accepted \(sums.accepted), retries \(sums.retries), \(state); \(news.joined(separator: ", "))")
            }
            faults = now
            guard still < Self.patience, away < Self.patienceWithoutServer else {
                throw ProgramFailure(what: "nothing has moved for \(still), and \(away) while PostgreSQL was away", log: logs)
            }
        }
    }

    private var logs: String { site.slots.map(\.tail).joined(separator: "\n") }

    /// Nil while the server is away, which it is often.
    private func counts() async -> (ready: Int, settled: Int)? {
        let rows = try? await site.pair.books.rows(
            "SELECT (SELECT count(*) FROM appstore.inbox_ready), (SELECT count(*) FROM appstore.outcomes)"
        )
        return try? rows?.first?.decode((Int.self, Int.self))
    }
}
