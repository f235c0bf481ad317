import InboxTesting
import Postgres
import PostgresTesting
import TemporaryPostgres
import Testing

/// PostgreSQL's log lines about a row that violates a constraint.
struct ServerLogTests {
    private static let user = "ann@example.org"
    private static let body = "the body of ann"

    /// An invalid row, and the role that writes it.
    private static let refused: [(role: String, statement: Statement)] =
        [
            ("appstore_ingest", "SELECT appstore.receive(\([Array(body.utf8)]))"),
            ("appstore_backend", "SELECT appstore.create_order(\(user), 'pro.monthly')"),
        ]
        + ["ingest", "worker", "operator", "viewer", "backend", "api"].map {
            ("appstore_\($0)", "INSERT INTO pg_temp.own (user_id) VALUES (\(user))")
        }

    @Test func `an error of a constraint prints no personal data`() async throws {
        let cluster = try await TestCluster.startPrivate()
        let database = try await InboxDatabase.make(in: cluster)
        try await database.run("ALTER TABLE appstore.inbox ADD CHECK (false); ALTER TABLE appstore.token_orders ADD CHECK (false)")
        for (role, statement) in Self.refused {
            let error = try await database.withConnection(user: role) { connection in
                try await connection.runScript("SET default_transaction_read_only = off")
                try await connection.runScript("CREATE TEMPORARY TABLE own (user_id text CHECK (false))")
                return await #expect(throws: PostgresError.self) { try await connection.execute(statement) }
            }
            #expect(error?.sqlState?.rawValue == "23514", "\(role): \(String(describing: error))")
        }
        try await database.run("DO $$ BEGIN RAISE LOG 'that was all'; END $$")
        let log = try await log(of: cluster, until: "that was all")
        #expect(log.split(separator: "\n").count { $0.contains("violates check constraint") } == Self.refused.count, "\(log)")
        let bodyInHex = Self.body.utf8.map { String($0, radix: 16) }.joined()
        for secret in [Self.user, Self.body, bodyInHex] { #expect(!log.contains(secret), "\(log)") }
        await cluster.stop()
    }

    private func log(of cluster: TestCluster, until mark: String) async throws -> String {
        let deadline = ContinuousClock.now + .seconds(10)
        while !cluster.cluster.log.contains(mark) {
            try #require(ContinuousClock.now < deadline, "the server wrote no such line")
            await Task.yield()
        }
        return cluster.cluster.log
    }
}
