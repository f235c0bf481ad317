import PostgresTesting
import Testing

@testable import Postgres

/// Several hosts, the first of them silent: each connection attempt takes a whole connect timeout, longer than a task waits.
@Suite struct SilentHostTests {
    private static let connectTimeout = 2

    @Test(arguments: [false, true]) func `a connection is opened, though each task's timeout is shorter`(isSide: Bool) async throws {
        try await withPool(maxConnections: 2, acquireTimeout: .milliseconds(300)) { main, _, _ in
            let pool = isSide ? main.side(timeout: .milliseconds(300)) : main
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
            #expect(start.duration(to: .now) < .seconds(Self.connectTimeout) + .seconds(6))
            #expect(!refusals.isEmpty)
            #expect(refusals.allSatisfy { $0.code == .connectionFailed && $0.isRetryable }, "\(refusals)")
            #expect((1...(isSide ? 1 : 2)).contains(pool.counts.opened))
            await pool.close()
        }
    }

    @Test func `tasks that time out leave at most one connection attempt per slot`() async throws {
        try await withPool(maxConnections: 2, acquireTimeout: .milliseconds(20)) { pool, server, _ in
            for _ in 0..<20 { _ = try await postgresError { try await pool.withConnection { try await $0.backend() } } }
            #expect(server.clientCount == 2)
            try await eventually("connections without a waiter") { pool.counts.opened == 2 }
            _ = try await pool.withConnection { try await $0.backend() }
            #expect(pool.counts == ConnectionPool.Counts(opened: 2, failed: 0, lost: 0))
        }
    }

    @Test func `connections that are being opened at shutdown are closed`() async throws {
        try await withPool(maxConnections: 2, acquireTimeout: .milliseconds(20)) { pool, server, database in
            for _ in 0..<3 { _ = try await postgresError { try await pool.withConnection { try await $0.backend() } } }
            await pool.close()
            #expect(pool.counts == ConnectionPool.Counts(opened: 2, failed: 0, lost: 0))
            let admin = try await connect(database)
            let others = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()" as Statement
            try await eventually("closed connections") { try await admin.query(others).isEmpty }
            await admin.close()
        }
    }

    /// Lends a pool whose connection string lists a silent host first.
    private func withPool(
        maxConnections: Int,
        acquireTimeout: Duration,
        _ body: (ConnectionPool, SilentServer, TestDatabase) async throws -> Void
    ) async throws {
        let server = SilentServer()
        try await TestCluster.shared.withDatabase { database in
            let options = try ConnectionOptions(server.url(before: database, timeout: Self.connectTimeout))
            let configuration = ConnectionPool.Configuration(maxConnections: maxConnections, acquireTimeout: acquireTimeout)
            let pool = ConnectionPool(options: options, configuration: configuration, logger: .silent)
            try await body(pool, server, database)
            await pool.close()
        }
    }
}
