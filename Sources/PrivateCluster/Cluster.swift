package import FoundationEssentials
import Glibc
import Synchronization

/// A PostgreSQL cluster in a temporary folder, which ends with this process and leaves nothing behind.
///
/// It listens on a Unix socket in its folder and on 127.0.0.1.
package final class Cluster: Sendable {
    /// How a cluster is made and run.
    package struct Configuration: Sendable {
        /// How its folder's name begins.
        package var name: String
        /// Settings of the server; anything that is not said keeps PostgreSQL's default.
        package var settings: [String: String] = [:]
        /// The text of `pg_hba.conf`, which otherwise trusts everybody on this machine.
        package var accessRules: String?
        /// Arguments of `initdb` beside the usual ones.
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

    /// Makes the folder; the cluster in it comes to be with ``initialize()``, or with a program that fills ``dataFolder``, such as
    /// `pg_basebackup`.
    package init(_ configuration: Configuration) throws {
        self.configuration = configuration
        folder = try ClusterFolder.make(named: configuration.name)
        port = try FreePort.find()
    }

    /// Makes a cluster and starts it.
    package static func start(_ configuration: Configuration) async throws -> Cluster {
        let cluster = try Cluster(configuration)
        try await cluster.initialize()
        try await cluster.launch()
        return cluster
    }

    /// Runs `initdb`: superuser `postgres`, UTF-8, locale C. Removes what clusters of that name have left behind whose process was killed.
    package func initialize() async throws {
        try await ClusterFolder.removeAbandoned(named: configuration.name)
        let usual = ["-D", dataFolder.path, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"]
        try await PostgresPrograms.run("initdb", usual + configuration.initialization)
        if let accessRules = configuration.accessRules {
            try Data(accessRules.utf8).write(to: dataFolder.appending(path: "pg_hba.conf"))
        }
    }

    /// Starts the server, also again after ``stop()`` or ``kill()``, and returns when it takes connections.
    ///
    /// - Parameter settings: Settings beside or instead of the configured ones, for this run alone.
    package func launch(settings: [String: String] = [:]) async throws {
        let all = ownSettings.merging(configuration.settings) { $1 }.merging(settings) { $1 }
        let arguments = ["-D", dataFolder.path] + all.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
        var command = try PostgresPrograms.command("postgres", arguments)
        // A standby says "… read-only connections".
        command.readyMark = "database system is ready to accept"
        let process = try ChildProcess.launch(command)
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

    /// Stops the server at once and removes the folder.
    package func remove() async {
        await end(with: SIGQUIT)
        await DetachedThread.run { [folder] in Leftovers.remove(folder: folder.path) }
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
            // What the server says when it is ready is recognised in English.
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
