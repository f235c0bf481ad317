package import FoundationEssentials
import Glibc
import Postgres
import ServiceSupport
import Synchronization

/// A PostgreSQL cluster in a temporary folder, which is stopped and removed when this process ends.
///
/// It listens on a Unix socket in its folder and on 127.0.0.1.
package final class Cluster: Sendable {
    /// How a cluster is created and run.
    package struct Configuration: Sendable {
        /// The prefix of its folder's name.
        package var name: String
        /// Settings of the server; the others keep PostgreSQL's defaults.
        package var settings: [String: String] = [:]
        /// The text of `pg_hba.conf`; by default all local connections are trusted.
        package var accessRules: String?
        /// Additional arguments of `initdb`.
        package var initialization: [String] = []

        package init(name: String, settings: [String: String] = [:], accessRules: String? = nil) {
            self.name = name
            self.settings = settings
            self.accessRules = accessRules
        }
    }

    /// The folder with the data and the socket.
    package let folder: URL
    package let port: Int
    package let configuration: Configuration
    private let process = Mutex<ChildProcess?>(nil)

    /// Creates the folder. ``initialize()`` creates the cluster in it; instead, a program such as `pg_basebackup` may fill ``dataFolder``.
    package init(_ configuration: Configuration) throws {
        self.configuration = configuration
        folder = try ClusterFolder.make(named: configuration.name)
        port = try FreePort.find()
    }

    /// Creates a cluster and starts it.
    package static func start(_ configuration: Configuration) async throws -> Cluster {
        let cluster = try Cluster(configuration)
        try await cluster.initialize()
        try await cluster.launch()
        return cluster
    }

    /// Runs `initdb`: superuser `postgres`, UTF-8, locale C. First removes clusters of that name whose process was killed.
    package func initialize() async throws {
        try await ClusterFolder.removeAbandoned(named: configuration.name)
        let usual = ["-D", dataFolder.path, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"]
        try await PostgresPrograms.run("initdb", usual + configuration.initialization)
        if let accessRules = configuration.accessRules {
            try Data(accessRules.utf8).write(to: dataFolder.appending(path: "pg_hba.conf"))
        }
    }

    /// Starts the server, also after ``stop()`` or ``kill()``, and returns when it accepts connections.
    ///
    /// - Parameter settings: override the configured ones for this run.
    package func launch(settings: [String: String] = [:]) async throws {
        let all = ownSettings.merging(configuration.settings) { $1 }.merging(settings) { $1 }
        let arguments = ["-D", dataFolder.path] + all.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
        var command = try PostgresPrograms.command("postgres", arguments)
        // A standby writes "… read-only connections".
        command.readyMark = "database system is ready to accept"
        let process = try ChildProcess.launch(command)
        self.process.withLock { $0 = process }
        try await process.awaitReady()
    }

    /// Ends all sessions and stops the server (fast shutdown).
    package func stop() async {
        await end(with: SIGINT)
    }

    /// Kills the postmaster, as a crash would, and returns when its children have ended too.
    package func kill() async {
        await end(with: SIGKILL)
    }

    /// Stops the server (immediate shutdown) and removes the folder.
    package func remove() async {
        await end(with: SIGQUIT)
        await DetachedThread.run { [folder] in CleanupRegistry.remove(folder: folder.path) }
    }

    private func end(with signal: Int32) async {
        let process = process.withLock { process in
            defer { process = nil }
            return process
        }
        process?.signal(signal)
        await process?.awaitExit()
    }

    private var ownSettings: [String: String] {
        [
            "listen_addresses": "127.0.0.1", "port": "\(port)", "unix_socket_directories": folder.path, "timezone": "UTC",
            // ``launch(settings:)`` recognises the English ready message.
            "lc_messages": "C",
        ]
    }
}

extension Cluster {
    package var dataFolder: URL { folder.appending(path: "data") }

    /// The postmaster's process id; 0 while the server is down.
    package var pid: Int32 { process.withLock { $0?.pid ?? 0 } }

    /// The last lines of the server's log.
    package var log: String { process.withLock { $0?.output ?? "" } }

    /// A URL over the Unix socket, where every role is trusted.
    package func url(database: String, user: String) -> String {
        "postgresql://\(user)@/\(database)?host=\(folder.path)&port=\(port)"
    }
}
