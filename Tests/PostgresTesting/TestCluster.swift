package import Foundation
import Glibc
import Logging
import Postgres
import Synchronization

/// A PostgreSQL cluster of the tests' own, in a temporary folder, which ends with the test process.
///
/// Tests share ``shared`` and get a database of their own from it; a test that stops or breaks the server starts a private one.
package final class TestCluster: Sendable {
    /// Started at its first use. Roles belong to the whole cluster: create them only when they are not there.
    package static let shared = TestCluster(settings: [:], accessRules: nil)

    /// The folder with the data and the socket.
    package let folder: URL
    package let port: Int
    private let settings: [String: String]
    private let accessRules: String?
    private let process = Mutex<ServerProcess?>(nil)
    private let start = Once<ConnectionPool>()
    let templates = Mutex<[String: Once<String>]>([:])
    /// Templates are made one after the other: each may create roles, and concurrent `CREATE ROLE` of one name fails.
    let templateTurn: ConnectionPool

    private init(settings: [String: String], accessRules: String?) {
        folder = TestFolder.make()
        port = FreePort.find()
        self.settings = settings
        self.accessRules = accessRules
        let pool = ConnectionPool.Configuration(maxConnections: 1, acquireTimeout: .seconds(300))
        templateTurn = ConnectionPool(options: Self.options(folder, port), configuration: pool, logger: .silent)
    }

    /// Starts a cluster for one test.
    ///
    /// - Parameters:
    ///   - settings: Server settings beside or instead of the usual ones.
    ///   - accessRules: The text of `pg_hba.conf`, which otherwise trusts everybody on this machine.
    package static func startPrivate(settings: [String: String] = [:], accessRules: String? = nil) async throws -> TestCluster {
        let cluster = TestCluster(settings: settings, accessRules: accessRules)
        _ = try await cluster.started()
        return cluster
    }

    /// The pool for creating databases, after starting the server if need be.
    func started() async throws -> ConnectionPool {
        try await start.value {
            try await ServerPrograms.run("initdb", self.initdbArguments)
            if let accessRules = self.accessRules {
                try Data(accessRules.utf8).write(to: self.dataFolder.appending(path: "pg_hba.conf"))
            }
            try await self.launch()
            let pool = ConnectionPool.Configuration(maxConnections: 2, acquireTimeout: .seconds(120))
            return ConnectionPool(options: Self.options(self.folder, self.port), configuration: pool, logger: .silent)
        }
    }

    /// Starts the server again after ``stop()`` or ``kill()``, and returns when it takes connections.
    package func launch() async throws {
        let arguments = ["-D", dataFolder.path] + serverSettings.flatMap { ["-c", "\($0.key)=\($0.value)"] }
        let process = try ServerProcess.launch(ServerPrograms.command("postgres", arguments))
        self.process.withLock { $0 = process }
        try await process.awaitReady()
    }

    /// Ends all sessions and stops the server properly.
    package func stop() async {
        await end(with: SIGINT)
    }

    /// Kills the postmaster, as a crash would, and returns when its children are gone too.
    package func kill() async {
        await end(with: SIGKILL)
    }

    private func end(with signal: Int32) async {
        let process = process.withLock { process in
            defer { process = nil }
            return process
        }
        process?.signal(signal)
        await process?.awaitExit()
    }
}

extension TestCluster {
    package var dataFolder: URL { folder.appending(path: "data") }

    /// A URL over the Unix socket, where every role is trusted.
    package func url(database: String, user: String) -> String {
        "postgresql://\(user)@/\(database)?host=\(folder.path)&port=\(port)"
    }

    static func options(_ folder: URL, _ port: Int) -> ConnectionOptions {
        do {
            return try ConnectionOptions("postgresql://postgres@/postgres?host=\(folder.path)&port=\(port)")
        } catch {
            fatalError("the cluster's own URL is refused: \(error)")
        }
    }

    private var initdbArguments: [String] {
        ["-D", dataFolder.path, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"]
    }

    private var serverSettings: [String: String] {
        let usual = [
            "listen_addresses": "127.0.0.1", "port": "\(port)", "unix_socket_directories": folder.path, "fsync": "off",
            "full_page_writes": "off", "shared_buffers": "64MB", "max_connections": "600", "autovacuum": "off", "timezone": "UTC",
            "lc_messages": "C", "log_checkpoints": "off",
        ]
        return usual.merging(settings) { _, given in given }
    }
}
