package import Foundation
import Logging
import Postgres
package import PrivateCluster
import Synchronization

/// A PostgreSQL cluster of the tests' own, in a temporary folder, which ends with the test process.
///
/// Tests share ``shared`` and get a database of their own from it; a test that stops or breaks the server starts a private one.
package final class TestCluster: Sendable {
    /// Started at its first use. Roles belong to the whole cluster: create them only when they are not there.
    package static let shared = {
        do {
            return try TestCluster(settings: [:], accessRules: nil)
        } catch {
            fatalError("no folder for the tests' cluster: \(error)")
        }
    }()

    /// The server itself.
    package let cluster: Cluster
    private let start = Once<ConnectionPool>()
    let templates = Mutex<[String: Once<String>]>([:])
    /// Templates are made one after the other: each may create roles, and concurrent `CREATE ROLE` of one name fails.
    let templateTurn: ConnectionPool

    private init(settings: [String: String], accessRules: String?) throws {
        let settings = Self.settings.merging(settings) { _, given in given }
        cluster = try Cluster(Cluster.Configuration(name: "appstore-inbox-tests", settings: settings, accessRules: accessRules))
        templateTurn = try Self.pool(on: cluster, maxConnections: 1, acquireTimeout: .seconds(300))
    }

    /// Starts a cluster for one test.
    ///
    /// - Parameters:
    ///   - settings: Server settings beside or instead of the usual ones.
    ///   - accessRules: The text of `pg_hba.conf`, which otherwise trusts everybody on this machine.
    package static func startPrivate(settings: [String: String] = [:], accessRules: String? = nil) async throws -> TestCluster {
        let cluster = try TestCluster(settings: settings, accessRules: accessRules)
        _ = try await cluster.started()
        return cluster
    }

    /// The pool for creating databases, after starting the server if need be.
    func started() async throws -> ConnectionPool {
        try await start.value {
            try await self.cluster.initialize()
            try await self.launch()
            return try Self.pool(on: self.cluster, maxConnections: 2, acquireTimeout: .seconds(120))
        }
    }

    /// Starts the server again after ``stop()`` or ``kill()``, and returns when it takes connections.
    package func launch() async throws {
        try await cluster.launch()
    }

    /// Ends all sessions and stops the server properly.
    package func stop() async {
        await cluster.stop()
    }

    /// Kills the postmaster, as a crash would, and returns when its children are gone too.
    package func kill() async {
        await cluster.kill()
    }
}

extension TestCluster {
    /// The folder with the data and the socket.
    package var folder: URL { cluster.folder }
    package var port: Int { cluster.port }
    package var dataFolder: URL { cluster.dataFolder }

    /// A URL over the Unix socket, where every role is trusted.
    package func url(database: String, user: String) -> String {
        cluster.url(database: database, user: user)
    }

    private static func pool(on cluster: Cluster, maxConnections: Int, acquireTimeout: Duration) throws -> ConnectionPool {
        ConnectionPool(
            options: try ConnectionOptions(cluster.url(database: "postgres", user: "postgres")),
            configuration: ConnectionPool.Configuration(maxConnections: maxConnections, acquireTimeout: acquireTimeout),
            logger: .silent
        )
    }

    private static let settings = [
        "fsync": "off", "shared_buffers": "64MB", "max_connections": "600", "autovacuum": "off",
        "log_checkpoints": "off",
    ]
}
