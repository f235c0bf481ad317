import Postgres
import PostgresTesting
import Synchronization
import Testing

/// A fault at a commit must leave in the database what its name says: otherwise a run tests something else than it reports.
@Suite(.timeLimit(.minutes(2))) struct FaultProxyTests {
    /// A fault, and whether the commit that it hits is done.
    struct FaultCase: Sendable, CustomTestStringConvertible {
        let fault: CommitFault
        let isCommitted: Bool

        var testDescription: String { "\(fault)" }
    }

    static let cases = [
        FaultCase(fault: .cutBeforeDelivery, isCommitted: false),
        FaultCase(fault: .silence(isDelivered: false, .milliseconds(200)), isCommitted: false),
        FaultCase(fault: .cutAfterDelivery, isCommitted: true),
        FaultCase(fault: .silence(isDelivered: true, .milliseconds(200)), isCommitted: true),
        FaultCase(fault: .cutInAnswer, isCommitted: true),
    ]

    @Test(arguments: cases) func `a COMMIT hit by a fault is done exactly when the fault says so`(faultCase: FaultCase) async throws {
        try await expectResult(of: faultCase) { connection in
            try await connection.withTransaction { transaction in
                try await transaction.execute("INSERT INTO appstore.t VALUES (1)")
                // Sent together with COMMIT, behind its own Sync.
                try transaction.append(toCommit: ["INSERT INTO appstore.t VALUES (2)"])
            }
        }
    }

    @Test(arguments: cases) func `a receive hit by a fault is done exactly when the fault says so`(faultCase: FaultCase) async throws {
        try await expectResult(of: faultCase) { connection in _ = try await connection.query("SELECT appstore.receive(\(Int32(2)))") }
    }

    @Test func `a delayed answer arrives`() async throws {
        try await withFault(.delay(.milliseconds(50))) { connection, admin in
            _ = try await connection.query("SELECT appstore.receive(\(Int32(1)))")
            #expect(try await admin.query("SELECT FROM appstore.t").count == 1)
        }
    }

    private func expectResult(of faultCase: FaultCase, _ work: (Connection) async throws -> Void) async throws {
        try await withFault(faultCase.fault) { connection, admin in
            let pid = try await connection.query("SELECT pg_backend_pid()")[0].decode(0, as: Int32.self)
            let error = await #expect(throws: PostgresError.self) { try await work(connection) }
            #expect(error?.isConnectionLoss == true, "\(String(describing: error))")
            try await eventually("the session hit by the fault ends") {
                try await admin.query("SELECT FROM pg_stat_activity WHERE pid = \(pid)").isEmpty
            }
            #expect(try await admin.query("SELECT FROM appstore.t").count == (faultCase.isCommitted ? 2 : 0))
        }
    }

    /// Lends a connection whose first commit meets the fault, and another one that bypasses the proxy.
    private func withFault(_ fault: CommitFault, _ body: (_ faulty: Connection, _ admin: Connection) async throws -> Void) async throws {
        let database = try await TestCluster.shared.makeDatabase()
        let admin = try await Connection.open(ConnectionOptions(database.url()), logger: .silent)
        try await admin.runScript(
            """
            CREATE SCHEMA appstore;
            CREATE TABLE appstore.t (id int);
            CREATE FUNCTION appstore.receive(n int) RETURNS void LANGUAGE sql AS 'INSERT INTO appstore.t SELECT generate_series(1, n)';
            """
        )
        let (scheduledFaults, count) = (ScheduledFaults(), Counter())
        scheduledFaults.schedule(fault, for: "postgres") { count.increment() }
        let proxy = try FaultProxy(server: database.cluster.port, scheduledFaults: scheduledFaults)
        proxy.run()
        let url = "postgresql://postgres@127.0.0.1:\(proxy.port)/\(database.name)?sslmode=disable&gssencmode=disable"
        let faulty = try await Connection.open(ConnectionOptions(url), logger: .silent)
        try await body(faulty, admin)
        #expect(count.value == 1)
        await faulty.close()
        proxy.end()
        await admin.close()
    }

    private final class Counter: Sendable {
        private let count = Atomic(0)

        func increment() { count.add(1, ordering: .relaxed) }
        var value: Int { count.load(ordering: .relaxed) }
    }
}
