import EndToEndTesting
import Foundation
import LivesTesting
import OpenSSL
import Postgres
import PostgresTesting
import StoreSimulator

/// The installation under test: two PostgreSQL servers, a proxy in front of each, and the daemons.
final class ChaosInstallation: Sendable {
    let pair: ReplicatedPair
    let proxies: [FaultProxy]
    let scheduledFaults = ScheduledFaults()
    let ingests: [DaemonSupervisor]
    let workers: [DaemonSupervisor]
    /// The ports to which notifications are posted.
    let ports: [Int]
    let poison: Poison
    private let folder: URL

    static let ingestRole = "appstore_ingest"
    static let workerRole = "appstore_worker"

    private init(pair: ReplicatedPair, folder: URL, authority: TestAuthority, poison: Poison, settings: ChaosSettings) throws {
        (self.pair, self.folder, self.poison) = (pair, folder, poison)
        let scheduledFaults = scheduledFaults
        proxies = try pair.ports.map { try FaultProxy(server: $0, scheduledFaults: scheduledFaults) }
        let proxyPorts = proxies.map(\.port)
        let (program, logs) = (settings.program, settings.logs ?? folder)
        func supervisor(_ command: String, _ role: String, watchdog: Duration, _ settings: [String: String]) -> DaemonSupervisor {
            let database = ["APPSTORE_INBOX_DATABASE_URL": pair.url(user: role, ports: proxyPorts)]
            return DaemonSupervisor(command, of: program, settings: database.merging(settings) { $1 }, folder: logs, watchdog: watchdog)
        }
        let ports = [FreePort.find(), FreePort.find()]
        self.ports = ports
        ingests = ports.map { port in
            supervisor(
                "ingest",
                Self.ingestRole,
                watchdog: .seconds(30),
                ["APPSTORE_INBOX_LISTEN": "127.0.0.1:\(port)", "APPSTORE_INBOX_ADMIN_LISTEN": "127.0.0.1:\(FreePort.find())"]
            )
        }
        let root = folder.appending(path: "root.pem")
        try Data(authority.root.pem.utf8).write(to: root)
        let apps = [HistoryGenerator.app, HistoryGenerator.verifyReceiptApp].map { "\($0.bundleID):\($0.appAppleID ?? 0)" }
        let trust = [
            "APPSTORE_INBOX_APPS": apps.joined(separator: ","),
            "APPSTORE_INBOX_EXTRA_ROOTS": "\(root.path):Production+Sandbox",
        ]
        workers = (0..<3).map { _ in supervisor("worker", Self.workerRole, watchdog: .seconds(180), trust) }
    }

    /// Starts servers and proxies, runs `migrate`, and installs the poison. The caller starts the daemons.
    static func open(authority: TestAuthority, poison: Poison, settings: ChaosSettings) async throws -> ChaosInstallation {
        let folder = FileManager.default.temporaryDirectory.appending(path: "appstore-inbox-chaos-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        if let logs = settings.logs { try FileManager.default.createDirectory(at: logs, withIntermediateDirectories: true) }
        let pair = try await ReplicatedPair.start()
        let installation = try ChaosInstallation(pair: pair, folder: folder, authority: authority, poison: poison, settings: settings)
        let database = ["APPSTORE_INBOX_DATABASE_URL": installation.pair.primaryURL]
        let result = try await Program.run(["migrate"], settings: database, program: settings.program)
        guard result.ending == .exit(0) else { throw ProgramFailure(what: "migrate ended with \(result.ending)", log: result.errors) }
        try await pair.onPrimary { try await $0.runScript(poison.script) }
        for proxy in installation.proxies { proxy.run() }
        return installation
    }

    var supervisors: [DaemonSupervisor] { ingests + workers }

    func close() async throws {
        for proxy in proxies { proxy.end() }
        await pair.end()
        try FileManager.default.removeItem(at: folder)
    }
}
