import Foundation
import Glibc
import Postgres
import PostgresTesting
import TemporaryPostgres

/// A pooler in transaction mode in front of a cluster: each transaction may run on another server connection.
struct PgBouncer {
    static var isInstalled: Bool { PostgresPrograms.isInstalled("pgbouncer") }

    /// Server connections for each role and database.
    static let poolSize = 4

    private let process: ChildProcess
    private let port: Int

    /// Runs a pooler while `body` runs.
    static func run(before database: TestDatabase, _ body: (PgBouncer) async throws -> Void) async throws {
        let bouncer = try start(before: database)
        do {
            try await bouncer.awaitAnswer(database)
            try await body(bouncer)
        } catch {
            await bouncer.stop()
            throw error
        }
        await bouncer.stop()
    }

    private static func start(before database: TestDatabase) throws -> PgBouncer {
        let folder = try ClusterFolder.make(named: "appstore-inbox-tests")
        let port = try TemporaryPostgres.FreePort.find()
        let users = ["ingest", "worker", "operator", "api"].map { "\"appstore_\($0)\" \"\"\n" }.joined()
        try Data(users.utf8).write(to: folder.appending(path: "users"))
        // No ignore_startup_parameters: PgBouncer refuses parameters that it does not know.
        let configuration = """
            [databases]
            * = host=\(database.cluster.folder.path) port=\(database.cluster.port)
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = trust
            auth_file = \(folder.path)/users
            pool_mode = transaction
            default_pool_size = \(poolSize)
            max_client_conn = 200
            """
        let file = folder.appending(path: "pgbouncer.ini")
        try Data(configuration.utf8).write(to: file)
        for path in [file.path, folder.path + "/users"] { chmod(path, 0o644) }
        let process = try ChildProcess.launch(PostgresPrograms.command("pgbouncer", [file.path]))
        return PgBouncer(process: process, port: port)
    }

    func url(_ database: TestDatabase, user: String) -> String {
        "postgresql://\(user)@127.0.0.1:\(port)/\(database.name)?sslmode=disable"
    }

    /// Connects through the pooler, without named statements.
    func options(_ database: TestDatabase, user: String) throws -> ConnectionOptions {
        var options = try ConnectionOptions(url(database, user: user))
        options.prepared = false
        return options
    }

    func pool(_ database: TestDatabase, user: String, connections: Int) throws -> ConnectionPool {
        ConnectionPool(
            options: try options(database, user: user),
            configuration: .init(maxConnections: connections),
            logger: .silent
        )
    }

    private func awaitAnswer(_ database: TestDatabase) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            do {
                let connection = try await Connection.open(options(database, user: "appstore_worker"), logger: .silent)
                await connection.close()
                return
            } catch  where ContinuousClock.now < deadline && process.ending == nil {
                try await Task.sleep(for: .milliseconds(20))
            } catch {
                throw process.failure("does not answer: \(error)")
            }
        }
    }

    private func stop() async {
        process.signal(SIGTERM)
        await process.awaitExit()
    }
}
