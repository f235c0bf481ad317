import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
import Testing

extension EndToEndInterfaces {
    /// An import by the built program, against the simulated App Store Server API over TLS.
    @Suite struct ImportTests {
        @Test func `an import whose worker is killed again and again ends as one that is left alone`() async throws {
            let scene = try ImportedShop(customers: 40)
            try await scene.serve { store, settings in
                let alone = try await ImportRun(of: scene, settings, store)
                let killed = try await ImportRun(of: scene, settings, store, kills: 20) { 12 }
                #expect(killed.kills >= 3, "the worker was killed \(killed.kills) times only")
                #expect(alone.problems + killed.problems == [])
                #expect(difference(alone.ledger, killed.ledger) == [])
                let claims = alone.ledger.filter { $0.hasPrefix("claim ") }
                #expect(claims.contains { $0.contains(#""kind": "link""#) } && claims.contains { $0.contains(#""kind": "token""#) })
                #expect(alone.ledger.count > 100)
                #expect(Set(alone.requests.joined()) == Set(killed.requests.joined()))
                #expect(killed.repeatedAfterKills.allSatisfy { $0 <= ImportedShop.inFlight }, "\(killed.repeatedAfterKills)")
            }
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
                        == "line,transaction_id,user_id,environment,why,asked,token\r\n2,1000000000000001,anna,,not_asked,0,\r\n"
                        + "3,1000000000000002,berta,,not_asked,0,\r\n"
                )
                #expect(try await installation.run(["import", "status", "1", "--watch"], as: "appstore_viewer").ending == .exit(0))
            }
        }

        @Test func `tokens of a file mean its users, for purchases before and after, and what is refused is told`() async throws {
            let scene = try ImportedShop(customers: 1)
            var shop = scene.shop
            var (earlier, later) = (shop.makeCustomer(), shop.makeCustomer())
            let (first, second, ordered) = (UUID(), UUID(), UUID())
            try await scene.serve { _, settings in
                try await Installation.lend { installation in
                    let ingest = try await installation.startIngest()
                    _ = try await installation.startWorker(for: shop, settings)
                    _ = try await ingest.client.post(shop.body(earlier.subscribe(appAccountToken: first)))
                    _ = try await installation.sql.settled(1)
                    try await installation.sql.makeOrder(user: "carla", product: "coins", no: ordered.uuidString)
                    let id = try #require(earlier.subscription?.originalTransactionID)
                    let lines = [
                        "original_transaction_id,user_id,token", "\(id),anna,\(first)", "9000000000000001,berta,\(second)",
                        "9000000000000002,carla,\(ordered)", "9000000000000003,dora,\(first)", "9000000000000004,emil,x",
                        "9000000000000005,emil,11111111-1111-8111-8111-111111111111", "9000000000000006,,\(UUID())",
                    ]
                    let path = installation.folder.appending(path: "customers.csv").path
                    try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: path))
                    let new = ["import", "new", path, "--app", shop.app.bundleID]
                    let made = try await installation.run(new)
                    #expect(made.output == "import 1: 4 ids, 0 repeated lines, 0 lines of other apps, 3 lines not imported\n")
                    for words in ["line 6: not imported: token", "line 7: not imported: token", "line 8: not imported: there is a token"] {
                        #expect(made.errors.contains(words), "\(made.errors)")
                    }
                    try await Self.untilTokensAreSet(in: installation)
                    _ = try await ingest.client.post(shop.body(later.subscribe(appAccountToken: second)))
                    try await eventually("both are owners") {
                        try await installation.sql.values("SELECT user_id FROM appstore.contracts WHERE user_id IS NOT NULL ORDER BY 1")
                            == ["anna", "berta"]
                    }
                    let misses = try await installation.run(["import", "misses", "1", "--csv"]).output
                    #expect(misses.contains("4,9000000000000002,carla,,token_of_order,"), "\(misses)")
                    #expect(misses.contains("5,9000000000000003,dora,,token_of_another_user,"), "\(misses)")
                    #expect(misses.contains(",\(ordered.uuidString.lowercased())\r\n"), "\(misses)")
                    // The same file again.
                    let before = try await Self.state(of: installation)
                    #expect(try await installation.run(new).output.contains("this file was loaded before"))
                    try Data((lines + [""]).joined(separator: "\n").utf8).write(to: URL(filePath: path))
                    #expect(try await installation.run(new).output.hasPrefix("import 2: 4 ids"))
                    try await Self.untilTokensAreSet(in: installation)
                    #expect(try await difference(before, Self.state(of: installation)) == [])
                }
            }
        }

        private static func untilTokensAreSet(in installation: Installation) async throws {
            try await eventually("each token is set or refused", within: .seconds(60)) {
                try await installation.sql.value(Bool.self, "SELECT NOT EXISTS (SELECT FROM appstore.import_tokens WHERE error IS NULL)")
            }
        }

        private static func state(of installation: Installation) async throws -> [String] {
            try await installation.sql.digest() + installation.sql.values("SELECT u::text FROM appstore.user_tokens AS u ORDER BY 1")
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
