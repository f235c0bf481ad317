import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// A real worker with events that kill it.
enum PoisonRun {
    /// Runs a worker, started anew whenever it dies, until every event has its outcome and `body` is through.
    static func work(
        on bytes: [UInt8],
        isHasty: Bool = true,
        _ body: (TestDatabase) async throws -> Void = { _ in }
    ) async throws -> (TestDatabase, [Supervisor.Life]) {
        let database = try await InboxDatabase.make()
        try await database.receive(bytes)
        let supervisor = Supervisor(database, isHasty: isHasty)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await supervisor.run() }
            defer { supervisor.close() }
            try await body(database)
            try await Deadline.wait(for: "every event's outcome") {
                try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["0"]
            }
        }
        #expect(try await database.eventsNotExactlyOnce() == [])
        return (database, supervisor.lives)
    }

    /// Every event that is not failed was applied at its first attempt.
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
