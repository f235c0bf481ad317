import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Runs a real worker with events that kill it.
enum PoisonRun {
    /// Runs a worker, restarted whenever it dies, until `body` has returned and every event has its outcome.
    static func work(
        on bytes: [UInt8],
        isFast: Bool = true,
        _ body: (TestDatabase) async throws -> Void = { _ in }
    ) async throws -> (TestDatabase, [Supervisor.Life]) {
        let database = try await InboxDatabase.make()
        try await database.receive(bytes)
        let supervisor = Supervisor(database, isFast: isFast)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await supervisor.run() }
            defer { supervisor.close() }
            try await body(database)
            try await eventually("every event has its outcome", within: .seconds(120)) {
                try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["0"]
            }
        }
        #expect(try await database.eventsNotExactlyOnce() == [])
        return (database, supervisor.lives)
    }

    /// Expects that every event that did not fail was applied at its first attempt.
    static func expectOthersApplied(in database: TestDatabase) async throws {
        let others = try await database.lines(
            "SELECT DISTINCT concat_ws('|', result, attempts) FROM appstore.outcomes WHERE result <> 'failed'"
        )
        #expect(others == ["applied|1"])
    }
}

extension TestDatabase {
    /// Puts one event into the inbox for each byte.
    func receive(_ bytes: [UInt8]) async throws {
        let bodies = bytes.map { [$0] }
        try await withConnection(user: "appstore_ingest") { connection in
            _ = try await connection.execute("SELECT appstore.receive(\(bodies))")
        }
    }
}
