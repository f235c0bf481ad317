import Feed
import InboxTesting
import Postgres
import PostgresTesting

/// A database whose feed is on. Tells are written by hand, as `forgotten`, each of which becomes one entry and needs no ledger.
enum FeedScene {
    static func make(in cluster: TestCluster = .shared) async throws -> TestDatabase {
        let database = try await InboxDatabase.make(in: cluster)
        try await run("SELECT appstore.enable_feed()", in: database)
        return database
    }

    static func run(_ statement: Statement, as user: String = "postgres", in database: TestDatabase) async throws {
        try await database.withConnection(user: user) { connection in _ = try await connection.execute(statement) }
    }

    /// Tells of these names, in one statement.
    static func tell(_ names: String...) -> Statement {
        "INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', unnest(\(names))"
    }

    /// Takes steps as a worker until nothing is left.
    static func sequence(in database: TestDatabase) async throws {
        try await database.withConnection(user: "appstore_worker") { connection in
            while try await FeedStep.take(on: connection).hasMore {}
        }
    }

    /// `number position` of each generation, counted from 1, with its first position.
    static func generations(in database: TestDatabase) async throws -> [String] {
        try await database.lines(
            "SELECT row_number() OVER (ORDER BY generation) || ' ' || from_position FROM appstore.feed_generations ORDER BY generation"
        )
    }

    /// `position name` of each entry.
    static func entries(in database: TestDatabase) async throws -> [String] {
        try await database.lines("SELECT position || ' ' || user_id FROM appstore.feed ORDER BY position")
    }
}
