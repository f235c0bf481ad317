import FoundationEssentials
import Logging
import Postgres
import TemporaryPostgres

/// A benchmark's own PostgreSQL: a new cluster with default settings, so fsync and synchronous_commit are on.
final class BenchmarkCluster: Sendable {
    /// The prefix of the temporary folders' names.
    static let folderName = "appstore-inbox-bench"

    private let cluster: Cluster
    /// The output of `postgres --version`.
    private let version: String
    /// The file system of its folder, as `stat --file-system` names it.
    private let fileSystem: String

    private init(_ cluster: Cluster, version: String, fileSystem: String) {
        self.cluster = cluster
        self.version = version
        self.fileSystem = fileSystem
    }

    /// Creates and starts a cluster.
    static func start() async throws -> BenchmarkCluster {
        let version = try await PostgresPrograms.run("postgres", ["--version"]).trimmed
        let cluster = try await Cluster.start(Cluster.Configuration(name: folderName))
        let stat = ChildCommand(["stat", "--file-system", "--format=%T", cluster.folder.path])
        return BenchmarkCluster(cluster, version: version, fileSystem: try await ChildProcess.launch(stat).awaitSuccess().trimmed)
    }

    /// Adds PostgreSQL's version and settings to a report's machine.
    func describe(in machine: inout Machine) {
        machine.postgres = version
        machine.postgresSettings =
            "PostgreSQL with all settings at their defaults, fsync and synchronous_commit on, over a Unix socket, on \(fileSystem)"
        if ["tmpfs", "ramfs"].contains(fileSystem) {
            machine.warnings.append("the cluster is on \(fileSystem), where a flush costs nothing: set TMPDIR to a folder on a disk")
        }
    }

    /// Runs `body` with a new cluster, which is removed afterwards.
    static func with<T: Sendable>(_ body: (BenchmarkCluster) async throws -> T) async throws -> T {
        let cluster = try await start()
        do {
            let value = try await body(cluster)
            await cluster.cluster.remove()
            return value
        } catch {
            await cluster.cluster.remove()
            throw error
        }
    }

    func url(_ database: String, user: String = "postgres") -> String {
        cluster.url(database: database, user: user)
    }

    /// Lends a connection of the superuser.
    func withConnection<T: Sendable>(to database: String, _ body: (Connection) async throws -> T) async throws -> T {
        var options = try ConnectionOptions(url(database))
        // One statement may insert millions of rows.
        options.statementDeadline = .seconds(3600)
        let connection = try await Connection.open(options, logger: .silent)
        do {
            let value = try await body(connection)
            await connection.close()
            return value
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Writes a file into the cluster's folder, readable by all users, and returns its path.
    func write(_ text: String, to name: String) throws -> String {
        let file = cluster.folder.appending(path: name)
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
        return file.path
    }

    /// Creates a database with the program's schema.
    func makeDatabase(_ name: String, program: String) async throws {
        let create: Statement = "CREATE DATABASE \(identifier: name)"
        try await withConnection(to: "postgres") { connection in _ = try await connection.execute(create) }
        try await Daemon.run("migrate", program: program, settings: ["DATABASE_URL": url(name)])
    }

    /// Creates a database as a copy of another one, file by file.
    func copyDatabase(_ original: String, as name: String) async throws {
        // PostgreSQL 14 always copies files; newer versions need STRATEGY.
        let major = Int(version.split(separator: " ").last { $0.first?.isNumber ?? false }?.prefix { $0.isNumber } ?? "") ?? 0
        let copy: Statement =
            major >= 15
            ? "CREATE DATABASE \(identifier: name) TEMPLATE \(identifier: original) STRATEGY file_copy"
            : "CREATE DATABASE \(identifier: name) TEMPLATE \(identifier: original)"
        try await withConnection(to: "postgres") { connection in _ = try await connection.execute(copy) }
    }

    func dropDatabase(_ name: String) async throws {
        let drop: Statement = "DROP DATABASE IF EXISTS \(identifier: name) WITH (FORCE)"
        try await withConnection(to: "postgres") { connection in _ = try await connection.execute(drop) }
    }

    /// Writes dirty pages of earlier work, so that the next measurement does not pay for them.
    func checkpoint() async throws {
        try await withConnection(to: "postgres") { connection in _ = try await connection.execute("CHECKPOINT") }
    }

    /// Removes dead rows from a table and updates its statistics.
    func vacuum(_ database: String, table: String) async throws {
        let vacuum: Statement = "VACUUM ANALYZE \(unsafeRaw: table)"
        try await withConnection(to: database) { connection in _ = try await connection.execute(vacuum) }
    }

    /// Runs `body`; if `isHeld`, another session holds a snapshot of the database meanwhile, so vacuum cannot remove rows that die.
    func withSnapshot<T: Sendable>(of database: String, isHeld: Bool, _ body: () async throws -> T) async throws -> T {
        guard isHeld else { return try await body() }
        return try await withConnection(to: database) { connection in
            try await connection.runScript("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_catalog.pg_class;")
            let value = try await body()
            try await connection.runScript("ROLLBACK")
            return value
        }
    }

    /// Processor time of all PostgreSQL processes since the start.
    func processorTime() throws -> Duration {
        try ProcessStatistics.processorTimeOfFamily(of: cluster.pid)
    }
}

extension Logger {
    /// Discards all messages; errors are thrown.
    static var silent: Logger { Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() } }
}
