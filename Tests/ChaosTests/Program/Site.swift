import EndToEndTesting
import Foundation
import LivesTesting
import OpenSSL
import Postgres
import PostgresTesting
import StoreSimulator

/// Everything that a run is about: two PostgreSQL servers, the proxies in front of them, and the daemons behind those.
final class Site: Sendable {
    let pair: ReplicatedPair
    let proxies: [FaultProxy]
    let ambushes = Ambushes()
    let ingests: [Slot]
    let workers: [Slot]
    /// Where notifications are posted.
    let ports: [Int]
    let poison: Poison
    private let folder: URL

    static let ingestRole = "appstore_ingest"
    static let workerRole = "appstore_worker"

    private init(pair: ReplicatedPair, folder: URL, authority: TestAuthority, poison: Poison, settings: ChaosSettings) throws {
        (self.pair, self.folder, self.poison) = (pair, folder, poison)
        let ambushes = ambushes
        proxies = try pair.ports.map { try FaultProxy(server: $0, ambushes: ambushes) }
        let proxyPorts = proxies.map(\.port)
        let (program, logs) = (settings.program, settings.logs ?? folder)
        func slot(_ command: String, _ role: String, watchdog: Duration, _ settings: [String: String]) -> Slot {
            let database = ["APPSTORE_INBOX_DATABASE_URL": pair.url(user: role, ports: proxyPorts)]
            return Slot(command, of: program, settings: database.merging(settings) { $1 }, folder: logs, watchdog: watchdog)
        }
        let ports = [FreePort.find(), FreePort.find()]
        self.ports = ports
        ingests = ports.map { port in
            slot(
                "ingest",
                Self.ingestRole,
                watchdog: .seconds(30),
                ["APPSTORE_INBOX_LISTEN": "127.0.0.1:\(port)", "APPSTORE_INBOX_ADMIN_LISTEN": "127.0.0.1:\(FreePort.find())"]
            )
        }
        let root = folder.appending(path: "root.pem")
        try Data(authority.root.pem.utf8).write(to: root)
        let apps = [HistoryAuthor.app, HistoryAuthor.askedApp].map { "\($0.bundleID):\($0.appAppleID ?? 0)" }
        let trust = [
            "APPSTORE_INBOX_APPS": apps.joined(separator: ","),
            "APPSTORE_INBOX_EXTRA_ROOTS": "\(root.path):Production+Sandbox",
        ]
        workers = (0..<3).map { _ in slot("worker", Self.workerRole, watchdog: .seconds(180), trust) }
    }

    /// Starts the servers and the proxies, has the program make the schema, and poisons it. The daemons are up to the caller.
    static func open(authority: TestAuthority, poison: Poison, settings: ChaosSettings) async throws -> Site {
        let folder = FileManager.default.temporaryDirectory.appending(path: "appstore-inbox-chaos-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        if let logs = settings.logs { try FileManager.default.createDirectory(at: logs, withIntermediateDirectories: true) }
        let pair = try await ReplicatedPair.start()
        let site = try Site(pair: pair, folder: folder, authority: authority, poison: poison, settings: settings)
        let database = ["APPSTORE_INBOX_DATABASE_URL": site.pair.primaryURL]
        let result = try await Program.run(["migrate"], settings: database, program: settings.program)
        guard result.ending == .exit(0) else { throw ProgramFailure(what: "migrate ended with \(result.ending)", log: result.errors) }
        try await pair.onPrimary { try await $0.runScript(poison.script) }
        for proxy in site.proxies { proxy.run() }
        return site
    }

    var slots: [Slot] { ingests + workers }

    func close() async throws {
        for proxy in proxies { proxy.end() }
        await pair.end()
        try FileManager.default.removeItem(at: folder)
    }
}
