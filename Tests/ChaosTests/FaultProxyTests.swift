import EndToEndTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

/// What a strike at a commit leaves in the database must be what its name says: otherwise a run would test something else than it tells.
@Suite(.timeLimit(.minutes(2))) struct FaultProxyTests {
    /// A strike, and whether what it struck lasts.
    struct Blow: Sendable, CustomTestStringConvertible {
        let strike: Strike
        let lasts: Bool

        var testDescription: String { "\(strike)" }
    }

    static let blows = [
        Blow(strike: .cutBeforeDelivery, lasts: false), Blow(strike: .silence(isDelivered: false, .milliseconds(200)), lasts: false),
        Blow(strike: .cutAfterDelivery, lasts: true), Blow(strike: .silence(isDelivered: true, .milliseconds(200)), lasts: true),
        Blow(strike: .cutInAnswer, lasts: true),
    ]

    @Test(arguments: blows) func `a struck COMMIT has been done, or has not, as the strike says`(blow: Blow) async throws {
        try await suffer(blow) { connection in
            try await connection.withTransaction { transaction in
                try await transaction.execute("INSERT INTO appstore.t VALUES (1)")
                // Travels with COMMIT, behind a Sync of its own.
                try transaction.leave(with: ["INSERT INTO appstore.t VALUES (2)"])
            }
        }
    }

    @Test(arguments: blows) func `a struck receive has been done, or has not, as the strike says`(blow: Blow) async throws {
        try await suffer(blow) { connection in _ = try await connection.query("SELECT appstore.receive(\(Int32(2)))") }
    }

    @Test func `a delayed answer comes`() async throws {
        try await strike(.delay(.milliseconds(50))) { connection, admin in
            _ = try await connection.query("SELECT appstore.receive(\(Int32(1)))")
            #expect(try await admin.query("SELECT FROM appstore.t").count == 1)
        }
    }

    private func suffer(_ blow: Blow, _ work: (Connection) async throws -> Void) async throws {
        try await strike(blow.strike) { connection, admin in
            let pid = try await connection.query("SELECT pg_backend_pid()")[0].decode(0, as: Int32.self)
            let error = await #expect(throws: PostgresError.self) { try await work(connection) }
            #expect(error?.isConnectionLoss == true, "\(String(describing: error))")
            try await eventually("the struck session ends") {
                try await admin.query("SELECT FROM pg_stat_activity WHERE pid = \(pid)").isEmpty
            }
            #expect(try await admin.query("SELECT FROM appstore.t").count == (blow.lasts ? 2 : 0))
        }
    }

    /// Lends a connection whose first commit is struck, and another one past the proxy.
    private func strike(_ strike: Strike, _ body: (_ struck: Connection, _ admin: Connection) async throws -> Void) async throws {
        let database = try await TestCluster.shared.makeDatabase()
        let admin = try await Connection.open(ConnectionOptions(database.url()), logger: .silent)
        try await admin.runScript(
            """
            CREATE SCHEMA appstore;
            CREATE TABLE appstore.t (id int);
            CREATE FUNCTION appstore.receive(n int) RETURNS void LANGUAGE sql AS 'INSERT INTO appstore.t SELECT generate_series(1, n)';
            """
        )
        let (ambushes, count) = (Ambushes(), Counter())
        ambushes.lay(strike, for: "postgres") { count.increment() }
        let proxy = try FaultProxy(server: database.cluster.port, ambushes: ambushes)
        proxy.run()
        let url = "postgresql://postgres@127.0.0.1:\(proxy.port)/\(database.name)?sslmode=disable&gssencmode=disable"
        let struck = try await Connection.open(ConnectionOptions(url), logger: .silent)
        try await body(struck, admin)
        #expect(count.value == 1)
        await struck.close()
        proxy.end()
        await admin.close()
    }

    private final class Counter: Sendable {
        private let count = Atomic(0)

        func increment() { count.add(1, ordering: .relaxed) }
        var value: Int { count.load(ordering: .relaxed) }
    }
}
