package import Foundation
import Postgres
import Synchronization
package import TemporaryPostgres

/// A PostgreSQL cluster for tests, in a temporary folder; it ends with the test process.
///
/// Tests make their databases in ``shared``; a test that stops or breaks the server starts a private cluster.
package final class TestCluster: Sendable {
    /// Started at its first use. Roles belong to the whole cluster: create them only if they do not exist.
    package static let shared = {
        do {
            return try TestCluster(settings: [:], accessRules: nil)
        } catch {
            fatalError("cannot create a folder for the tests' cluster: \(error)")
        }
    }()

    package let cluster: Cluster
    private let start = Once<ConnectionPool>()
    let templates = Mutex<[String: Once<String>]>([:])
    /// Databases whose tests have ended.
    let unused = Mutex<[String]>([])
    /// A pool of one connection that serializes making templates: concurrent `CREATE ROLE` of one name fails.
    let templateLock: ConnectionPool

    private init(settings: [String: String], accessRules: String?) throws {
        let settings = Self.settings.merging(settings) { _, given in given }
        cluster = try Cluster(Cluster.Configuration(name: "appstore-inbox-tests", settings: settings, accessRules: accessRules))
        templateLock = try Self.pool(on: cluster, maxConnections: 1, acquireTimeout: .seconds(300))
    }

    /// Starts a cluster for one test.
    ///
    /// - Parameters:
    ///   - settings: Server settings that are added to the defaults or replace them.
    ///   - accessRules: The text of `pg_hba.conf`; the default trusts every local connection.
    package static func startPrivate(settings: [String: String] = [:], accessRules: String? = nil) async throws -> TestCluster {
        let cluster = try TestCluster(settings: settings, accessRules: accessRules)
        _ = try await cluster.started()
        return cluster
    }

    /// Starts a standby, which streams what this cluster commits; a commit does not wait for it.
    package func startStandby() async throws -> TestCluster {
        let standby = try TestCluster(settings: cluster.configuration.settings, accessRules: nil)
        let source = "host=\(folder.path) port=\(port) user=postgres"
        try await PostgresPrograms.run(
            "pg_basebackup",
            ["-d", source, "-D", standby.dataFolder.path, "-R", "-X", "stream", "--checkpoint=fast", "--no-sync"]
        )
        try await standby.launch()
        return standby
    }

    /// The pool for creating databases; starts the server if necessary.
    func started() async throws -> ConnectionPool {
        try await start.value {
            try await self.cluster.initialize()
            try await self.launch()
            return try Self.pool(on: self.cluster, maxConnections: 2, acquireTimeout: .seconds(120))
        }
    }

    /// Starts the server again after ``stop()`` or ``kill()``, and returns when it accepts connections.
    package func launch() async throws {
        try await cluster.launch()
    }

    /// Ends all sessions and stops the server cleanly.
    package func stop() async {
        await cluster.stop()
    }

    /// Kills the postmaster, as in a crash, and returns when its child processes have ended.
    package func kill() async {
        await cluster.kill()
    }
}

extension TestCluster {
    /// The folder with the data and the socket.
    package var folder: URL { cluster.folder }
    package var port: Int { cluster.port }
    package var dataFolder: URL { cluster.dataFolder }

    /// A Unix socket URL, for which every role is trusted.
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
        // A server counts the descriptors that it inherits from tests with hundreds of open connections.
        "max_files_per_process": "8000",
        "log_checkpoints": "off",
    ]
}
