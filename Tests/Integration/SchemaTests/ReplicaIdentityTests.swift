import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// A publication of all tables, which tools for copies of a database make: PostgreSQL refuses updates and deletions in a table whose rows it
/// cannot tell apart.
struct ReplicaIdentityTests {
    /// The unlogged ones, too: a publication leaves them out, but they may become logged.
    private static let withoutKey: Statement = """
        SELECT c.oid::regclass::text FROM pg_class AS c
        WHERE c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND c.relkind IN ('r', 'p')
          AND NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisprimary AND c.relreplident = 'd')
        ORDER BY 1
        """

    @Test func `every table has a primary key, and its partitions have it, too`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            for _ in 0..<4 { _ = try await connection.query("SELECT appstore.prepare_partitions()") }
        }
        let made = try await database.lines("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhrelid::regclass::text ~ '_from_'")
        #expect(made.count > 1)
        #expect(try await database.lines(Self.withoutKey) == [])
    }

    @Test func `a table without a primary key is found`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            try await connection.runScript("CREATE TABLE appstore.copied (LIKE appstore.token_orders)")
        }
        #expect(try await database.lines(Self.withoutKey) == ["appstore.copied"])
    }
}
