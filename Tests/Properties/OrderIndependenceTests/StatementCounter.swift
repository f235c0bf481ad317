import InboxTesting
import Ledger
import LedgerStore
import Postgres
import PostgresTesting

/// A database with pg_stat_statements.
struct StatementCounter {
    private let cluster: TestCluster
    private let database: TestDatabase
    private let workers: ConnectionPool

    static func open() async throws -> StatementCounter {
        let cluster = try await TestCluster.startPrivate(settings: [
            "shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "top",
        ])
        let database = try await InboxDatabase.make(in: cluster)
        _ = try await database.withConnection { try await $0.execute("CREATE EXTENSION pg_stat_statements") }
        return StatementCounter(cluster: cluster, database: database, workers: try database.pool(user: "appstore_worker", connections: 1))
    }

    func close() async throws {
        await workers.close()
        await cluster.stop()
    }

    /// The number of statements that a worker sends to merge these facts, including BEGIN and COMMIT.
    func statements(toMerge fold: BatchFold) async throws -> Int {
        _ = try await database.withConnection { try await $0.query("SELECT pg_stat_statements_reset()") }
        _ = try await workers.withTransaction { try await LedgerMerger.merge(fold, in: $0) }
        return try await number(
            """
            SELECT sum(calls)::text FROM pg_stat_statements AS s JOIN pg_roles AS r ON r.oid = s.userid
            WHERE r.rolname = 'appstore_worker' AND s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        )
    }

    /// The number of rows of a table.
    func rows(_ table: String) async throws -> Int {
        try await number("SELECT count(*)::text FROM \(identifier: "appstore").\(identifier: table)")
    }

    private func number(_ statement: Statement) async throws -> Int {
        try await database.lines(statement).first.flatMap { Int($0) } ?? 0
    }
}
