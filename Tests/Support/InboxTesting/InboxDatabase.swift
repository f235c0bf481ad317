package import Postgres
package import PostgresTesting
import Schema

/// Databases with the schema, one for each test.
package enum InboxDatabase {
    /// - Parameters:
    ///   - cluster: the test's own, with other settings than the shared one.
    ///   - options: of CREATE DATABASE, such as a locale.
    package static func make(in cluster: TestCluster = .shared, options: String = "") async throws -> TestDatabase {
        try await cluster.makeDatabase(
            prepare: { url in
                let connection = try await Connection.open(ConnectionOptions(url), logger: .silent)
                _ = try await SchemaMigrator(connection: connection, logger: .silent).migrate()
                await connection.close()
            },
            templateKey: "schema \(options)",
            options: options
        )
    }
}

extension TestDatabase {
    /// Lends a connection as that role.
    package func withConnection<T: Sendable>(user: String = "postgres", _ body: (Connection) async throws -> T) async throws -> T {
        let connection = try await Connection.open(ConnectionOptions(url(user: user)), logger: .silent)
        let value: T
        do {
            value = try await body(connection)
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
        return value
    }

    /// A pool of connections as that role.
    package func pool(user: String, connections: Int = 4) throws -> ConnectionPool {
        ConnectionPool(
            options: try ConnectionOptions(url(user: user)),
            configuration: ConnectionPool.Configuration(maxConnections: connections),
            logger: .silent
        )
    }

    /// One text for each row: its columns as PostgreSQL writes them, joined by `|`.
    package func lines(_ statement: Statement) async throws -> [String] {
        let rows = try await withConnection { try await $0.query(statement) }
        return try rows.map { try $0.decode(0, as: String.self) }
    }

    /// Expects the invariant: every event of the inbox waits or has an outcome, never both, and an event that waits has its body.
    /// Outcomes may outlive their bodies, which age.
    package func eventsNotExactlyOnce() async throws -> [String] {
        try await lines("SELECT event_id::text FROM appstore.events_not_exactly_once() AS event_id")
    }

    /// Waits until that many sessions of this database wait for a lock.
    package func awaitLockWaiters(_ count: Int) async throws {
        let waiting: Statement = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        try await withConnection { connection in
            try await eventually("\(count) sessions wait for a lock") { try await connection.query(waiting).count >= count }
        }
    }
}
