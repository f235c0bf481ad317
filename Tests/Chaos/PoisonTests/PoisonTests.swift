import InboxTesting
import Postgres
import TemporaryPostgres
import Testing

/// Events that kill their worker, with the real worker in a process of its own.
struct PoisonTests {
    /// What the worker does with an event, as `Poison` in the worker says; 1 is harmless.
    private static let poisons: [(name: String, byte: UInt8)] = [
        ("killed by SIGKILL", 2), ("invalid memory access", 3), ("trap", 4), ("endless computation", 5),
    ]

    @Test(arguments: poisons)
    func `an event that kills its process is isolated and fails, and no other event loses an attempt`(name: String, byte: UInt8)
        async throws
    {
        let bytes: [UInt8] = [1, 1, 1, byte] + Array(repeating: 1, count: 12)
        let (database, lives) = try await PoisonRun.work(on: bytes)
        let poison: Int64 = 4
        let outcomes = try await database.lines(
            """
            SELECT concat_ws('|', result, reason, attempts, count(*)) FROM appstore.outcomes
            GROUP BY result, reason, attempts ORDER BY result
            """
        )
        #expect(outcomes == ["applied|1|15", "failed|killed_worker|3|1"])
        #expect(try await database.lines("SELECT event_id::text FROM appstore.failed") == ["\(poison)"])

        // Once in a batch, then three times isolated.
        let began = lives.flatMap(\.events)
        #expect(began.filter { $0 == poison }.count == 4, "\(lives)")
        if byte == 5 { #expect(lives.dropLast().allSatisfy { $0.ending == .exit(70) }, "a process that hangs ends itself: \(lives)") }
        #expect(lives.last?.ending == .exit(0))
    }

    @Test func `an event whose merge never ends is isolated and fails, and the others are applied`() async throws {
        let (database, _) = try await PoisonRun.work(on: [1, 1, 8, 1, 1, 1])
        let failed = try await database.lines("SELECT concat_ws('|', event_id, reason, attempts) FROM appstore.failed")
        #expect(failed == ["3|killed_worker|3"])
        try await PoisonRun.expectOthersApplied(in: database)
    }

    @Test func `two events that kill their process are distinguished from each other and from the others`() async throws {
        let (database, _) = try await PoisonRun.work(on: [1, 2, 1, 1, 4, 1, 1, 1])
        let failed = try await database.lines(
            "SELECT concat_ws('|', event_id, reason, attempts) FROM appstore.failed ORDER BY event_id"
        )
        #expect(failed == ["2|killed_worker|3", "5|killed_worker|3"])
        try await PoisonRun.expectOthersApplied(in: database)
    }

    @Test func `as many hanging events as there are threads do not stop the worker`() async throws {
        let (database, _) = try await PoisonRun.work(on: [1, 5, 5, 1, 5, 5, 1, 1])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.failed") == ["4"])
        try await PoisonRun.expectOthersApplied(in: database)
    }
}
