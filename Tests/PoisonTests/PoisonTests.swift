import InboxTesting
import Postgres
import PostgresTesting
import PrivateCluster
import Synchronization
import Testing

/// Events that kill their worker, with the real worker in a process of its own.
struct PoisonTests {
    /// What the worker does with an event, as `Poison` in the worker says; 1 is harmless.
    private static let poisons: [(name: String, byte: UInt8)] = [
        ("is killed for want of memory", 2), ("reads where nothing is", 3), ("traps", 4), ("never comes back", 5),
    ]

    /// Runs a worker, started anew whenever it dies, until every event has its outcome and `body` is through.
    private func work(
        on bytes: [UInt8],
        isHasty: Bool = true,
        _ body: (TestDatabase) async throws -> Void = { _ in }
    ) async throws -> (TestDatabase, [Warden.Life]) {
        let database = try await InboxDatabase.make()
        try await database.receive(bytes)
        let warden = Warden(database, isHasty: isHasty)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await warden.run() }
            defer { warden.close() }
            try await body(database)
            try await Deadline.wait(for: "every event's outcome") {
                try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["0"]
            }
        }
        #expect(try await database.eventsNotExactlyOnce() == [])
        return (database, warden.lives)
    }

    @Test(arguments: poisons)
    func `an event that kills its process is alone in the end, and no other loses an attempt`(name: String, byte: UInt8) async throws {
        let bytes: [UInt8] = [1, 1, 1, byte] + Array(repeating: 1, count: 12)
        let (database, lives) = try await work(on: bytes)
        let poison: Int64 = 4
        let outcomes = try await database.lines(
            """
            SELECT concat_ws('|', result, reason, attempts, count(*)) FROM appstore.outcomes
            GROUP BY result, reason, attempts ORDER BY result
            """
        )
        #expect(outcomes == ["applied|1|15", "failed|\(byte == 5 ? "timed_out" : "killed_worker")|3|1"])
        #expect(try await database.lines("SELECT event_id::text FROM appstore.failed") == ["\(poison)"])

        // Once in company, then three times alone.
        let began = lives.flatMap(\.events)
        #expect(began.filter { $0 == poison }.count == 4, "\(lives)")
        if byte == 5 {
            // It is known who hangs: the others are settled at once.
            #expect(began.count == 15 + 4, "\(lives)")
            // Each life but the last, which may end before its time, ends itself.
            #expect(lives.prefix(3).allSatisfy { $0.ending == .exit(70) }, "\(lives)")
        } else {
            #expect(lives.last?.ending == .exit(0))
        }
    }

    @Test func `an event that never comes back from its merge is alone in the end, though it has let others in`() async throws {
        let (database, _) = try await work(on: [1, 1, 8, 1, 1, 1])
        let failed = try await database.lines("SELECT concat_ws('|', event_id, reason, attempts) FROM appstore.failed")
        #expect(failed == ["3|killed_worker|3"])
        try await expectInnocentOthers(in: database)
    }

    @Test func `two that kill their process are told apart from each other and from the others`() async throws {
        let (database, _) = try await work(on: [1, 2, 1, 1, 4, 1, 1, 1])
        let failed = try await database.lines(
            "SELECT concat_ws('|', event_id, reason, attempts) FROM appstore.failed ORDER BY event_id"
        )
        #expect(failed == ["2|killed_worker|3", "5|killed_worker|3"])
        try await expectInnocentOthers(in: database)
    }

    @Test func `as many that hang as there are threads do not freeze the worker`() async throws {
        let (database, _) = try await work(on: [1, 5, 5, 1, 5, 5, 1, 1])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.failed") == ["4"])
        try await expectInnocentOthers(in: database)
    }

    private func expectInnocentOthers(in database: TestDatabase) async throws {
        let innocent = try await database.lines(
            "SELECT DISTINCT concat_ws('|', result, attempts) FROM appstore.outcomes WHERE result <> 'failed'"
        )
        #expect(innocent == ["applied|1"])
    }

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

    /// With everything as it is in earnest, and an event every tenth of a second beside the poison.
    @Test(arguments: [
        ("an event that never comes back", [5], 10), ("an event that never comes back from its merge", [8], 10),
        ("an event that is killed for want of memory", [2], 10), ("an event that takes long in the database", [6], 1),
        ("an event that takes long to prepare", [7], 1), ("an event that fails", [9], 1), ("an event that takes long to fail", [10], 1),
        ("five events that take long in the database", [6, 6, 6, 6, 6], 5),
    ])
    func `other events are not delayed for long`(name: String, poison: [UInt8], seconds: Int) async throws {
        let calm = Mutex(0)
        let (database, _) = try await work(on: [1], isHasty: false) { database in
            // What an event waits without poison, on this machine now.
            for _ in 0..<25 { try await trickle(into: database) }
            try await Deadline.wait(for: "the first outcomes") {
                try await database.lines("SELECT count(*)::text FROM appstore.outcomes") == ["26"]
            }
            let usual = try await delays(in: database).last ?? 0
            calm.withLock { $0 = usual }
            try await database.receive([1, 1] + poison + [1, 1])
            try await Deadline.wait(for: "the end of the poison") {
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
        try await expectInnocentOthers(in: database)
    }
}

extension TestDatabase {
    /// Puts one event into the inbox for each byte.
    fileprivate func receive(_ bytes: [UInt8]) async throws {
        let bodies = bytes.map { [$0] }
        try await withConnection(user: "appstore_ingest") { connection in
            _ = try await connection.execute("SELECT appstore.receive(\(bodies))")
        }
    }
}
