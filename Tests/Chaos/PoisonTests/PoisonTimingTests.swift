import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

/// How long other events wait beside one that kills, hangs or fails, with the timeouts of production.
struct PoisonTimingTests {
    private func trickle(into database: TestDatabase) async throws {
        try await database.receive([1])
        try await Task.sleep(for: .milliseconds(80))
    }

    /// From the arrival of each event that did not fail to its outcome, in milliseconds, ascending; without the first, which waited for the
    /// worker to start.
    private func delays(in database: TestDatabase) async throws -> [Int] {
        try await database.lines(
            """
            SELECT round(extract(epoch FROM settled_at - received_at) * 1000)::text FROM appstore.outcomes
            WHERE result <> 'failed' AND event_id > 1 ORDER BY settled_at - received_at
            """
        ).compactMap(Int.init)
    }

    /// With the timeouts of production, and another event every tenth of a second.
    @Test(arguments: [
        ("a computation that never ends", [5], 12), ("a merge that never ends", [8], 12),
        ("an event that kills the process", [2], 12), ("a slow statement", [6], 7),
        ("a slow preparation", [7], 12), ("a failing statement", [9], 1), ("a statement that fails slowly", [10], 1),
        ("five slow statements", [6, 6, 6, 6, 6], 9),
    ])
    func `other events are not delayed for long`(name: String, poison: [UInt8], seconds: Int) async throws {
        let calm = Mutex(0)
        let (database, _) = try await PoisonRun.work(on: [1], isFast: false) { database in
            // The usual delay on this machine, without poison.
            for _ in 0..<25 { try await trickle(into: database) }
            try await eventually("the first events have outcomes", within: .seconds(120)) {
                try await database.lines("SELECT count(*)::text FROM appstore.outcomes") == ["26"]
            }
            let usual = try await delays(in: database).last ?? 0
            calm.withLock { $0 = usual }
            try await database.receive([1, 1] + poison + [1, 1])
            try await eventually("the poison events have failed", within: .seconds(120)) {
                try await trickle(into: database)
                return try await database.lines("SELECT count(*)::text FROM appstore.failed") == ["\(poison.count)"]
            }
        }
        let waits = try await delays(in: database)
        let (longest, usual) = (waits.last ?? 0, calm.withLock(\.self))
        print(
            "beside \(name): \(waits.count) events, median \(waits[waits.count / 2]) ms, longest \(longest) ms, before \(usual) ms"
        )
        #expect(longest - usual < seconds * 1000)
        try await PoisonRun.expectOthersApplied(in: database)
    }
}
