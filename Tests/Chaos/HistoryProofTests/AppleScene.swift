import AppStore
import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
import StoreSimulatorServer
import Testing

/// An installation of the built program, and a simulated App Store that its workers ask over TLS.
struct AppleScene: Sendable {
    static let place = ServerAPIPlace("com.example.tides", .production)

    let installation: Installation
    let shop: Shop
    let store: StoreServerAPI
    private let key: ServerAPIKey
    private let settings: [String: String]

    var sql: SQLAccess { installation.sql }

    /// Runs a test. Afterwards no log of a daemon may hold a token, a part of the key, or a payload.
    static func with(
        seed: UInt64 = 1,
        sabotage: String? = nil,
        change: (inout SimulatedServerAPI) throws -> Void = { _ in },
        _ body: (AppleScene) async throws -> Void
    ) async throws {
        let shop = try Shop(bundleID: place.bundleID, environment: place.environment, seed: seed)
        let key = try ServerAPIKey.generate(seed: seed)
        let app = SimulatedServerAPI.App(bundleID: place.bundleID, appAppleID: shop.app.appAppleID, issuer: key.issuer)
        var api = SimulatedServerAPI(apps: [app], keys: [key], signer: shop.signer, seed: seed)
        try change(&api)
        var configuration = StoreServerAPI.Configuration(now: Self.now)
        let identity = try SimulatedHostIdentity.generate(around: Self.now())
        configuration.identity = identity
        try await Installation.lend { [api, configuration] installation in
            let folder = installation.folder.path
            try key.write(to: "\(folder)/api-keys")
            try Data(identity.rootPEM.utf8).write(to: URL(filePath: "\(folder)/host.pem"))
            if let sabotage {
                let connection = try await Connection.open(ConnectionOptions(installation.database.url()), logger: .silent)
                try await connection.runScript(sabotage)
                await connection.close()
            }
            try await StoreServerAPI.with(api, configuration) { store in
                let settings = [
                    "APPSTORE_INBOX_ENVIRONMENTS": "Production", "APPSTORE_INBOX_API_KEYS_DIRECTORY": "\(folder)/api-keys",
                    "APPSTORE_INBOX_API_PRODUCTION_URL": store.address(of: .production) ?? "",
                    "APPSTORE_INBOX_API_SANDBOX_URL": store.address(of: .sandbox) ?? "",
                    "APPSTORE_INBOX_OUTBOUND_ROOTS": "\(folder)/host.pem", "APPSTORE_INBOX_LOG_LEVEL": "trace",
                ]
                let scene = AppleScene(installation: installation, shop: shop, store: store, key: key, settings: settings)
                try await body(scene)
                try scene.expectNoSecretInLogs()
            }
        }
    }

    @Sendable static func now() -> Timestamp { Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000)) }

    /// Starts a worker that has the key.
    func startWorker(_ settings: [String: String] = [:]) async throws -> Daemon {
        try await installation.startWorker(for: shop, self.settings.merging(settings) { $1 })
    }

    func lines(_ statement: Statement) async throws -> [String] { try await sql.values(statement) }

    /// Ends back-offs, leases and blocks. A worker that still has such a lease goes on beside the next one.
    func makeDue() async throws {
        try await sql.execute("UPDATE appstore.history_windows SET run_at = clock_timestamp() WHERE state = 'open'")
        try await sql.execute("UPDATE appstore.outbox SET run_at = clock_timestamp() WHERE state = 'open'")
        // A budget is refilled from the end of its block.
        try await sql.execute(
            """
            UPDATE appstore.api_budgets SET blocked_until = clock_timestamp(), refilled_at = clock_timestamp()
            WHERE blocked_until > clock_timestamp()
            """
        )
    }

    /// Whether windows were made, all are read, and nothing waits in the queue.
    func isRead() async throws -> Bool {
        try await sql.value(
            Bool.self,
            """
            SELECT coalesce((SELECT bool_and(state <> 'open') FROM appstore.history_windows), false)
                   AND NOT EXISTS (SELECT FROM appstore.inbox_queue)
            """
        )
    }

    /// The notifications that history lists now, in lower case.
    func listed() -> Set<String> {
        Set(store.access { $0.listed(at: Self.place, on: Self.now()) }.map { $0.uuidString.lowercased() })
    }

    /// Windows without clocks and counts of failures, and the cursor: what a fault must leave as it was.
    func standing() async throws -> [String] {
        try await lines(
            """
            SELECT concat_ws(' ', window_id, kind, starts_at, ends_at, state, coalesce(token, '-'), pages, listed, stored)
            FROM appstore.history_windows WHERE state = 'open' UNION ALL
            SELECT concat_ws(' ', near_until, second_until, since, coalesce(edge::text, '-'), covered) FROM appstore.history_cursors ORDER BY 1
            """
        )
    }

    /// Checks the logs of all daemons so far, at the level trace.
    func expectNoSecretInLogs() throws {
        let files = try FileManager.default.contentsOfDirectory(at: installation.folder, includingPropertiesForKeys: nil)
        let logs = try files.filter { $0.pathExtension == "log" }.map { try String(contentsOf: $0, encoding: .utf8) }
        #expect(logs.contains { $0.contains("worker is running") })
        let pem = try String(contentsOfFile: key.write(to: "\(installation.folder.path)/api-keys"), encoding: .utf8)
        let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        #expect(lines.count >= 3)
        // Each token, payload and part of a JWS begins with the first; the second begins each certificate in their headers.
        let secrets = ["eyJ", "MII", "PRIVATE KEY", "Bearer ", "signedPayload\":"] + lines.map(String.init)
        for log in logs {
            for secret in secrets {
                let line = log.split(separator: "\n").first { $0.contains(secret) }
                #expect(line == nil, "a log has \(secret)")
            }
        }
    }
}
