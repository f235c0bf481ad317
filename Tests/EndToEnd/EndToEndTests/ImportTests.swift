import EndToEndTesting
import Foundation
import PostgresTesting
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
                #expect(alone.ledger.contains { $0.hasPrefix("claim ") } && alone.ledger.count > 100)
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
