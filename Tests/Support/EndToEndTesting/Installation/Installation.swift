package import Foundation
import Glibc
import OpenSSL
package import PostgresTesting
import StoreSimulator
import Synchronization

/// A database with the program's schema, and the daemons of one test.
package final class Installation: Sendable {
    package let database: TestDatabase
    package let sql: SQLAccess
    /// Logs and root certificates.
    package let folder: URL
    private let daemons = Mutex<[Daemon]>([])

    private init(database: TestDatabase, folder: URL) throws {
        self.database = database
        self.folder = folder
        sql = try SQLAccess(url: database.url())
    }

    /// Lends an installation whose schema the built program has made. Afterwards it checks that each event is accounted for, and kills
    /// the
    /// daemons that still run.
    package static func lend(on cluster: TestCluster = .shared, _ body: (Installation) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "appstore-inbox-end-to-end-\(getpid())-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let database = try await cluster.makeDatabase(
            prepare: { url in
                let result = try await Program.run(["migrate"], settings: ["APPSTORE_INBOX_DATABASE_URL": url])
                guard result.ending == .exit(0) else {
                    throw ProgramFailure(what: "migrate ended with \(result.ending)", log: result.errors)
                }
            },
            templateKey: "migrated by the built program"
        )
        let installation = try Installation(database: database, folder: folder)
        do {
            try await body(installation)
            try await installation.sql.expectEachEventAccountedFor()
        } catch {
            await installation.end()
            throw error
        }
        await installation.end()
    }

    /// Starts the receiver.
    package func startIngest(_ settings: [String: String] = [:]) async throws -> Ingest {
        let (port, adminPort) = (FreePort.find(), FreePort.find())
        let daemon = try await start(
            "ingest",
            as: "appstore_ingest",
            ["APPSTORE_INBOX_LISTEN": "127.0.0.1:\(port)", "APPSTORE_INBOX_ADMIN_LISTEN": "127.0.0.1:\(adminPort)"].merging(settings) { $1 }
        )
        return Ingest(daemon: daemon, client: HTTPClient(port: port), admin: HTTPClient(port: adminPort))
    }

    /// Starts a worker that trusts the shop's authority for both environments and knows its app.
    ///
    /// - Parameter settings: override the shop's.
    package func startWorker(for shop: Shop, _ settings: [String: String] = [:]) async throws -> Daemon {
        let usual = [
            "APPSTORE_INBOX_APPS": shop.app.bundleID,
            "APPSTORE_INBOX_EXTRA_ROOTS": "\(try rootPath(of: shop)):Production+Sandbox",
        ]
        return try await startWorker(usual.merging(settings) { $1 })
    }

    /// Starts a worker with these settings.
    package func startWorker(_ settings: [String: String]) async throws -> Daemon {
        try await start("worker", as: "appstore_worker", settings)
    }

    /// Starts the console on a free port of this machine.
    package func startConsole(_ settings: [String: String] = [:]) async throws -> (daemon: Daemon, client: HTTPClient) {
        let port = FreePort.find()
        let usual = ["APPSTORE_INBOX_CONSOLE_LISTEN": "127.0.0.1:\(port)"]
        return (try await start("console", as: "appstore_console", usual.merging(settings) { $1 }), HTTPClient(port: port))
    }

    /// A file with the root certificate of the shop's authority.
    package func rootPath(of shop: Shop) throws -> String {
        let path = folder.appending(path: "root-\(shop.seed).pem")
        try Data(shop.authority.root.pem.utf8).write(to: path)
        return path.path
    }

    private func start(_ command: String, as role: String, _ settings: [String: String]) async throws -> Daemon {
        let all = ["APPSTORE_INBOX_DATABASE_URL": database.url(user: role)].merging(settings) { $1 }
        let daemon = try await Daemon.start(command, settings: all, folder: folder)
        daemons.withLock { $0.append(daemon) }
        return daemon
    }

    private func end() async {
        for daemon in daemons.withLock({ $0 }) { daemon.signal(SIGKILL) }
        await sql.close()
    }
}

/// A running receiver.
package struct Ingest: Sendable {
    package let daemon: Daemon
    /// A client of the listener for notifications.
    package let client: HTTPClient
    /// A client of the admin listener.
    package let admin: HTTPClient
}
