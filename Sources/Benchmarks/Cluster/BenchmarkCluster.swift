import FoundationEssentials
import Logging
import Postgres
import PrivateCluster

/// A PostgreSQL of a benchmark's own: a fresh cluster with every setting at its default, hence fsync and synchronous_commit on.
final class BenchmarkCluster: Sendable {
    /// How the names of all temporary folders begin.
    static let folderName = "appstore-inbox-bench"

    private let cluster: Cluster
    /// What `postgres --version` says.
    private let version: String
    /// What `stat --file-system` calls the file system of its folder.
    private let fileSystem: String

    private init(_ cluster: Cluster, version: String, fileSystem: String) {
        self.cluster = cluster
        self.version = version
        self.fileSystem = fileSystem
    }

    /// Makes and starts it.
    static func start() async throws -> BenchmarkCluster {
        let version = try await PostgresPrograms.run("postgres", ["--version"]).trimmed
        let cluster = try await Cluster.start(Cluster.Configuration(name: folderName))
        let question = ChildCommand(["stat", "--file-system", "--format=%T", cluster.folder.path])
        return BenchmarkCluster(cluster, version: version, fileSystem: try await ChildProcess.launch(question).awaitSuccess().trimmed)
    }

    /// What a report must say of it.
    func describe(in machine: inout Machine) {
        machine.postgres = version
        machine.postgresSettings =
            "PostgreSQL with all settings at their defaults, fsync and synchronous_commit on, over a Unix socket, on \(fileSystem)"
        if ["tmpfs", "ramfs"].contains(fileSystem) {
            machine.warnings.append("the cluster is on \(fileSystem), where a flush costs nothing: set TMPDIR to a folder on a disk")
        }
    }

    /// Runs `body` with a cluster and removes it.
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
        // Millions of rows may be made in one statement.
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

    /// Writes a file that PostgreSQL's programs and ours may read, gone with the cluster, and answers its path.
    func write(_ text: String, to name: String) throws -> String {
        let file = cluster.folder.appending(path: name)
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
        return file.path
    }

    /// Makes a database with the program's schema in it.
    func makeDatabase(_ name: String, program: String) async throws {
        let create: Statement = "CREATE DATABASE \(identifier: name)"
        try await withConnection(to: "postgres") { connection in _ = try await connection.execute(create) }
        try await Daemon.run("migrate", program: program, settings: ["DATABASE_URL": url(name)])
    }

    /// Makes a database that is a copy of another one, file by file.
    func copyDatabase(_ original: String, as name: String) async throws {
        // Before 15 there was no other way; since then it must be asked for.
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

    /// Writes out what earlier work has left in memory, so that it is not written at the expense of what is measured next.
    func checkpoint() async throws {
        try await withConnection(to: "postgres") { connection in _ = try await connection.execute("CHECKPOINT") }
    }

    /// Makes room in a table for what comes next.
    func vacuum(_ database: String, table: String) async throws {
        let vacuum: Statement = "VACUUM ANALYZE \(unsafeRaw: table)"
        try await withConnection(to: database) { connection in _ = try await connection.execute(vacuum) }
    }

    /// Runs `body` while another session holds a snapshot of that database, so that nothing that dies meanwhile can be cleared away.
    func withSnapshot<T: Sendable>(of database: String, isHeld: Bool, _ body: () async throws -> T) async throws -> T {
        guard isHeld else { return try await body() }
        return try await withConnection(to: database) { connection in
            try await connection.runScript("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_catalog.pg_class;")
            let value = try await body()
            try await connection.runScript("ROLLBACK")
            return value
        }
    }

    /// Of all of PostgreSQL's processes since the start.
    func processorTime() throws -> Duration {
        try ProcessStatistics.processorTimeOfFamily(of: cluster.pid)
    }
}

extension Logger {
    /// Says nothing: what goes wrong is thrown.
    static var silent: Logger { Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() } }
}
