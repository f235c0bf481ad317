import PostgresTesting
import Testing

@testable import Postgres

/// Several hosts, of which the first is switched off: each opening takes as long as a host is given, and longer than a task waits.
@Suite struct SilentHostTests {
    private static let timeout = 2

    @Test(arguments: [false, true]) func `a connection comes, though nobody can wait for it so long`(isSide: Bool) async throws {
        try await withPool(maxConnections: 2, patience: .milliseconds(300)) { whole, _, _ in
            let pool = isSide ? whole.side(patience: .milliseconds(300)) : whole
            let start = ContinuousClock.now
            var refusals: [PostgresError] = []
            while true {
                do {
                    _ = try await pool.withConnection { try await $0.backend() }
                    break
                } catch let error as PostgresError where start.duration(to: .now) < .seconds(20) {
                    refusals.append(error)
                }
            }
            #expect(start.duration(to: .now) < .seconds(Self.timeout) + .seconds(6))
            #expect(!refusals.isEmpty)
            #expect(refusals.allSatisfy { $0.code == .connectionFailed && $0.isRetryable }, "\(refusals)")
            #expect((1...(isSide ? 1 : 2)).contains(pool.counts.opened))
            await pool.close()
        }
    }

    @Test func `tasks that give up leave no more than one opening for each place`() async throws {
        try await withPool(maxConnections: 2, patience: .milliseconds(20)) { pool, server, _ in
            for _ in 0..<20 { _ = try await postgresError { try await pool.withConnection { try await $0.backend() } } }
            #expect(server.clientCount == 2)
            try await eventually("connections that nobody waits for") { pool.counts.opened == 2 }
            _ = try await pool.withConnection { try await $0.backend() }
            #expect(pool.counts == ConnectionPool.Counts(opened: 2, failed: 0, lost: 0))
        }
    }

    @Test func `what is being opened at shutdown is closed`() async throws {
        try await withPool(maxConnections: 2, patience: .milliseconds(20)) { pool, server, database in
            for _ in 0..<3 { _ = try await postgresError { try await pool.withConnection { try await $0.backend() } } }
            await pool.close()
            #expect(pool.counts == ConnectionPool.Counts(opened: 2, failed: 0, lost: 0))
            let admin = try await connect(database)
            let others = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()" as Statement
            try await eventually("closed connections") { try await admin.query(others).isEmpty }
            await admin.close()
        }
    }

    /// Lends a pool whose connections come only by way of a silent host.
    private func withPool(
        maxConnections: Int,
        patience: Duration,
        _ body: (ConnectionPool, SilentServer, TestDatabase) async throws -> Void
    ) async throws {
        let server = SilentServer()
        try await TestCluster.shared.withDatabase { database in
            let options = try ConnectionOptions(server.url(before: database, timeout: Self.timeout))
            let configuration = ConnectionPool.Configuration(maxConnections: maxConnections, acquireTimeout: patience)
            let pool = ConnectionPool(options: options, configuration: configuration, logger: .silent)
            try await body(pool, server, database)
            await pool.close()
        }
    }
}
