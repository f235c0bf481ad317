import AppStore
import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
import StoreSimulatorServer
import Testing

extension EndToEndInterfaces {
    /// An import by the built program, against the simulated App Store Server API over TLS.
    @Suite struct ImportTests {
        private static let requests = 4

        @Test func `an import whose worker is killed again and again ends as one that is left alone`() async throws {
            let scene = try ImportedShop(customers: 40)
            try await scene.serve { store, settings in
                let (alone, _) = try await Self.digest(scene, settings, store, isKilled: false)
                let undisturbed = store.calls.count
                let (killed, kills) = try await Self.digest(scene, settings, store, isKilled: true)
                #expect(kills >= 3, "the worker was killed \(kills) times only")
                #expect(difference(alone, killed) == [])
                #expect(alone.contains { $0.hasPrefix("claim ") } && alone.count > 100)
                let repeated = store.calls.count - 2 * undisturbed
                #expect(repeated <= kills * Self.requests * 2, "\(repeated) requests were repeated after \(kills) kills")
                #expect(store.calls.allSatisfy { $0.flaw == nil })
            }
        }

        /// Imports all customers into an installation of its own, and returns its ledger and how often a worker was killed.
        private static func digest(
            _ scene: ImportedShop,
            _ settings: [String: String],
            _ store: StoreServerAPI,
            isKilled: Bool
        ) async throws -> (ledger: [String], kills: Int) {
            var ledger: [String] = []
            var kills = 0
            try await Installation.lend { installation in
                let file = installation.folder.appending(path: "customers.csv")
                try Data(scene.csv.utf8).write(to: file)
                let made = try await installation.run(["import", "new", file.path, "--app", scene.shop.app.bundleID, "--depth", "history"])
                #expect(made.output.hasPrefix("import 1: 41 ids, 1 repeated lines, 0 lines of other apps, 1 lines not imported"))
                #expect(made.errors.contains("line 2: not imported: the id is no transaction id"), "\(made.errors)")
                // Links count from then on: the same instant for both.
                try await installation.sql.execute("UPDATE appstore.imports SET made_at = '2026-01-01 00:00Z'")
                var worker = try await installation.startWorker(for: scene.shop, settings)
                var asked = store.calls.count
                let isOver: Statement = """
                    SELECT s.state = 'done' OR s.remaining = s.waiting
                        AND NOT EXISTS (SELECT FROM appstore.import_chunks WHERE phase <> 'again' OR link_at IS NOT NULL)
                    FROM appstore.import_status AS s
                    """
                while try await !installation.sql.value(Bool.self, isOver) {
                    if isKilled, store.calls.count >= asked + 12 {
                        try await worker.kill()
                        kills += 1
                        // As two minutes later.
                        try await installation.sql.execute(
                            "UPDATE appstore.import_chunks SET run_at = clock_timestamp() WHERE is_leased"
                        )
                        asked = store.calls.count
                        worker = try await installation.startWorker(for: scene.shop, settings)
                    }
                    try await Task.sleep(for: .milliseconds(20))
                }
                try await eventually("all events are settled", within: .seconds(30)) {
                    try await installation.sql.value(Bool.self, "SELECT NOT EXISTS (SELECT FROM appstore.inbox_queue)")
                }
                #expect(try await worker.terminate() == .exit(0))
                #expect(!worker.log.contains("eyJ"), "a token or a body is in the log")
                let results = "SELECT DISTINCT source || ' ' || result FROM appstore.outcomes ORDER BY 1" as Statement
                #expect(try await installation.sql.values(results).allSatisfy { $0.hasPrefix("imported_transaction ") })
                #expect(try await installation.sql.values(results).allSatisfy { !$0.hasSuffix("rejected") && !$0.hasSuffix("failed") })
                let status = try await installation.run(["import", "status", "1", "--json"]).json()
                #expect(status.text("state") == "running" && status.number("waiting") == "1" && status.number("found") == "40")
                ledger = try await installation.sql.digest()
            }
            return (ledger, kills)
        }

        @Test func `a file is loaded from a pipe, shown, paused, resumed and stopped`() async throws {
            try await Installation.lend { installation in
                #expect(try await installation.run(["import", "status"]).output == "There are no imports.\n")
                let file = "original_transaction_id,user_id\r\n1000000000000001,anna\r\n1000000000000002,berta\r\n"
                let made = try await Program.run(
                    ["import", "new", "-", "--app", "com.example.app", "--json"],
                    settings: ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_operator")],
                    input: Array(file.utf8)
                ).json()
                #expect((made.text("state"), made.text("file"), made.number("items")) == ("running", "standard input", "2"))
                let status = try await installation.run(["import", "status"]).output
                #expect(status.contains("import 1  com.example.app  statuses  standard input  running"), "\(status)")
                #expect(status.contains("[------------------------------] 0 % 0 of 2"), "\(status)")
                // Where workers process one environment, no other one is asked.
                let path = installation.folder.appending(path: "customers.csv").path
                try Data("original_transaction_id\n1000000000000003\n".utf8).write(to: URL(filePath: path))
                let sandbox = try await installation.run(
                    ["import", "new", path, "--app", "com.example.app", "--json"],
                    ["APPSTORE_INBOX_ENVIRONMENTS": "Sandbox"]
                )
                #expect(try sandbox.json().text("environment") == "Sandbox", "\(sandbox.errors)")
                for (command, state) in [("pause", "paused"), ("resume", "running"), ("stop", "stopped")] {
                    let done = try await installation.run(["import", command, "1"])
                    #expect(done.output == "import 1 is \(state)\n", "\(done.errors)")
                }
                #expect(
                    try await installation.run(["import", "misses", "1", "--csv"]).output
                        == "line,transaction_id,user_id,environment,why,asked\r\n2,1000000000000001,anna,,not_asked,0\r\n"
                        + "3,1000000000000002,berta,,not_asked,0\r\n"
                )
                #expect(try await installation.run(["import", "status", "1", "--watch"], as: "appstore_viewer").ending == .exit(0))
            }
        }

        @Test func `what is wrong is said`() async throws {
            try await Installation.lend { installation in
                let file = installation.folder.appending(path: "customers.csv")
                try Data("orginal_transaction_id\n1\n".utf8).write(to: file)
                let typo = try await installation.run(["import", "new", file.path, "--app", "com.example.app"])
                #expect(typo.ending == .exit(1) && typo.errors.contains("did you mean original_transaction_id?"), "\(typo.errors)")
                try Data("original_transaction_id\n1\n".utf8).write(to: file)
                let new = ["import", "new", file.path, "--app", "com.example.app"]
                let viewer = try await installation.run(new, as: "appstore_viewer")
                #expect(viewer.ending == .exit(1) && viewer.errors.contains("appstore_operator"), "\(viewer.ending) \(viewer.errors)")
                let nowhere = try await installation.run(new, ["APPSTORE_INBOX_DATABASE_URL": "host=/nowhere user=x dbname=x"])
                #expect(nowhere.ending == .exit(1), "\(nowhere.ending) \(nowhere.errors)")
                let missing = try await installation.run(["import", "new", file.path + "x", "--app", "com.example.app"])
                #expect(missing.ending == .exit(1) && missing.errors.contains("cannot be read"), "\(missing.errors)")
                for command in ["pause", "resume", "stop", "misses", "status"] {
                    let unknown = try await installation.run(["import", command, "7"])
                    #expect(unknown.ending == .exit(1) && unknown.errors.contains("there is no import 7"), "\(unknown.errors)")
                }
                for wrong in [["import", "new", file.path], new + ["--depth", "all"], new + ["--environment", "x"], ["import", "stop"]] {
                    #expect(try await installation.run(wrong).ending == .exit(2), "\(wrong)")
                }
            }
        }
    }
}

/// Customers of a shop that no notification was ever sent about, and a store that can be asked.
private struct ImportedShop: Sendable {
    let shop: Shop
    let csv: String
    private let key: StoreSimulator.ServerAPIKey
    private let lives: [CustomerLife]
    private let now: Timestamp

    /// - Parameter customers: every tenth is one of Sandbox.
    init(customers: Int) throws {
        var (shop, sandbox) = (try Shop(), try Shop(environment: .sandbox, seed: 2))
        now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
        key = try StoreSimulator.ServerAPIKey.generate(seed: 1)
        var lines = ["original_transaction_id,user_id", "no id,x"]
        var lives: [CustomerLife] = []
        for number in 0..<customers {
            var life = number % 10 == 9 ? sandbox.makeCustomer() : shop.makeCustomer()
            _ = try life.subscribe()
            for _ in 0..<number % 30 where life.now < now.advanced(by: .seconds(-40 * 86_400)) { _ = try life.renew() }
            if number % 4 == 0 { _ = try life.refund() }
            lines.append("\(life.subscription?.originalTransactionID ?? ""),user \(number)")
            lives.append(life)
        }
        csv = (lines + [lines[2], "1999999999999999,unknown"]).joined(separator: "\n")
        (self.shop, self.lives) = (shop, lives)
    }

    /// Runs a body with the store, whose clock stands still: an answer is the same whenever it is asked for.
    func serve(_ body: (StoreServerAPI, _ settings: [String: String]) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "appstore-inbox-import-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let identity = try SimulatedHostIdentity.generate(around: now)
        let root = folder.appending(path: "host.pem").path
        try Data(identity.rootPEM.utf8).write(to: URL(filePath: root))
        try key.write(to: folder.appending(path: "api-keys").path)
        let app = SimulatedServerAPI.App(bundleID: shop.app.bundleID, issuer: key.issuer)
        var api = SimulatedServerAPI(apps: [app], keys: [key], signer: shop.signer, seed: 1)
        api.options.clockTolerance = .seconds(3600)
        api.options.pageSize = 4
        for life in lives { api.hold(life, at: now) }
        var configuration = StoreServerAPI.Configuration { [now] in now }
        configuration.identity = identity
        try await StoreServerAPI.with(api, configuration) { store in
            try await body(
                store,
                [
                    "APPSTORE_INBOX_API_KEYS_DIRECTORY": folder.appending(path: "api-keys").path,
                    "APPSTORE_INBOX_API_PRODUCTION_URL": store.address(of: .production) ?? "",
                    "APPSTORE_INBOX_API_SANDBOX_URL": store.address(of: .sandbox) ?? "", "APPSTORE_INBOX_API_BUDGET": "100",
                    "APPSTORE_INBOX_API_IMPORT_REQUESTS": "4", "APPSTORE_INBOX_OUTBOUND_ROOTS": root,
                ]
            )
        }
        try FileManager.default.removeItem(at: folder)
    }
}
