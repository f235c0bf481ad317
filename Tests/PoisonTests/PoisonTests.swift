import InboxTesting
import Postgres
import PostgresTesting
import PrivateCluster
import Testing

/// Events that kill their worker, with the real worker in a process of its own.
struct PoisonTests {
    /// What the worker does with an event, as `Poison` in the worker says; 1 is harmless.
    private static let poisons: [(name: String, byte: UInt8)] = [
        ("is killed for want of memory", 2), ("reads where nothing is", 3), ("traps", 4), ("never comes back", 5),
    ]

    private func work(on bytes: [UInt8], _ check: (TestDatabase, [Warden.Life]) async throws -> Void) async throws {
        let database = try await InboxDatabase.make()
        let bodies = bytes.map { [$0] }
        try await database.withConnection(user: "appstore_ingest") { connection in
            _ = try await connection.execute("SELECT appstore.receive(\(bodies))")
        }
        let warden = Warden(database)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await warden.run() }
            defer { warden.close() }
            try await Deadline.wait(for: "every event's outcome") {
                try await database.lines("SELECT count(*)::text FROM appstore.outcomes") == ["\(bytes.count)"]
            }
        }
        try await check(database, warden.lives)
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test(arguments: poisons)
    func `an event that kills its process is alone in the end, and no other loses an attempt`(name: String, byte: UInt8) async throws {
        let bytes: [UInt8] = [1, 1, 1, byte] + Array(repeating: 1, count: 12)
        try await work(on: bytes) { database, lives in
            let poison: Int64 = 4
            let outcomes = try await database.lines(
                """
                SELECT concat_ws('|', result, reason, attempts, count(*)) FROM appstore.outcomes
                GROUP BY result, reason, attempts ORDER BY result
                """
            )
            #expect(outcomes == ["applied|1|15", "failed|\(byte == 5 ? "timed_out" : "killed_worker")|3|1"])
            #expect(try await database.lines("SELECT event_id::text FROM appstore.failed") == ["\(poison)"])

            // Once in company, then alone. What never comes back is killed with its process some more times before it has come to be judged.
            let deadly = lives.flatMap(\.batches).filter { $0.contains(poison) }
            #expect(byte == 5 ? deadly.count >= 4 : deadly.count == 4)
            #expect(deadly.dropFirst().allSatisfy { $0 == [poison] }, "\(deadly)")
            // One that hangs may be judged by its own process, which cannot end well any more.
            #expect(byte == 5 || lives.last?.ending == .exit(0))
        }
    }

    @Test func `two that kill their process are told apart from each other and from the others`() async throws {
        try await work(on: [1, 2, 1, 1, 4, 1, 1, 1]) { database, _ in
            let failed = try await database.lines(
                "SELECT concat_ws('|', event_id, reason, attempts) FROM appstore.failed ORDER BY event_id"
            )
            #expect(failed == ["2|killed_worker|3", "5|killed_worker|3"])
            let innocent = try await database.lines(
                "SELECT DISTINCT concat_ws('|', result, attempts) FROM appstore.outcomes WHERE result <> 'failed'"
            )
            #expect(innocent == ["applied|1"])
        }
    }
}
