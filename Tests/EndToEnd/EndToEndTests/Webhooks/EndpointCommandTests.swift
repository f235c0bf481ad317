import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
import Testing
import WebhookReceiver

extension EndToEndInterfaces {
    /// `endpoint` and `redeliver`, as an operator uses them.
    @Suite struct EndpointCommandTests {
        @Test func `an endpoint is created, shown, paused, resumed, tested and removed`() async throws {
            let shop = try Shop()
            try await Installation.lend { installation in
                try await WebhookReceiver.with { receiver in
                    #expect(try await installation.run(["endpoint", "list"]).output == "There are no endpoints.\n")
                    let secret = try await installation.makeEndpoint("shop", receiver, ["--app", shop.app.bundleID])
                    #expect(secret.hasPrefix("whsec_") && secret.count == 50)
                    let list = try await installation.run(["endpoint", "list", "--json"]).json()
                    #expect((list.text("name"), list.text("state"), list.text("url")) == ("shop", "enabled", receiver.url))
                    let text = try await installation.run(["endpoint", "list"])
                    #expect(text.output.contains("never") && text.output.contains(receiver.url))

                    let again = try await installation.run(["endpoint", "secret", "shop", "--json"]).json()
                    #expect(again.text("secret") == secret)
                    #expect(again.text("publicKey")?.hasPrefix("whpk_") == true)

                    let paused = try await installation.run(["endpoint", "pause", "shop", "--note", "it\u{1B}[2J moves"])
                    #expect(paused.output == "shop is paused after position 0.\n", "\(paused.errors)")
                    let shown = try await installation.run(["endpoint", "show", "shop"]).output
                    #expect(shown.contains(#"paused: it\u001b[2J moves"#) && shown.contains(shop.app.bundleID), "\(shown)")
                    let untested = try await installation.run(["endpoint", "test", "shop"])
                    #expect(untested.ending == .exit(1) && untested.errors.contains("endpoint resume shop"), "\(untested.errors)")
                    #expect(try await installation.run(["endpoint", "resume", "shop"]).output.hasPrefix("shop goes on after position 0"))

                    _ = try await installation.startWebhookWorker(for: shop)
                    let test = try await installation.run(["endpoint", "test", "shop", "--json"]).json()
                    #expect((test.text("result"), test.number("status"), test.text("type")) == ("delivered", "204", "test"))
                    let log = try await installation.run(["endpoint", "show", "shop", "--json"]).json()
                    #expect(log.documents("attempts").map { $0.text("result") } == ["delivered"])

                    #expect(try await installation.run(["endpoint", "remove", "shop"]).output == "shop is removed.\n")
                    let gone = try await installation.run(["endpoint", "show", "shop"])
                    #expect(gone.ending == .exit(1) && gone.errors.contains("there is no endpoint \"shop\""), "\(gone.errors)")
                }
            }
        }

        @Test func `create turns the feed on, and prints what a receiver that refuses says`() async throws {
            let shop = try Shop()
            try await Installation.lend { installation in
                _ = try await installation.startWebhookWorker(for: shop)
                let answer = WebhookReceiver.Answer(401, body: "who are\u{1B}[31m you?" + String(repeating: "x", count: 9000))
                try await WebhookReceiver.with(answer: { _ in answer }) { receiver in
                    let made = try await installation.run(["endpoint", "create", "shop", receiver.url])
                    #expect(made.ending == .exit(1), "the test was not delivered")
                    #expect(made.output.hasPrefix("whsec_"))
                    #expect(made.errors.contains("the feed was off") && made.errors.contains("in generation 1"), "\(made.errors)")
                    #expect(
                        made.errors.contains("test: failed, 401 in ") && made.errors.contains(#"who are\u001b[31m you?"#),
                        "\(made.errors)"
                    )
                    #expect(made.errors.utf8.count < 1500)
                    let json = try await installation.run(["endpoint", "create", "other", receiver.url, "--json"])
                    #expect(json.ending == .exit(1))
                    let document = try json.json()
                    #expect(document.document("endpoint")?.text("name") == "other" && document.text("secret")?.hasPrefix("whsec_") == true)
                    #expect(document.document("test")?.number("status") == "401")
                    #expect(!json.errors.contains("the feed was off"))
                }
            }
        }

        @Test func `an error in a command is named`() async throws {
            try await Installation.lend { installation in
                try await WebhookReceiver.with { receiver in
                    _ = try await installation.makeEndpoint("shop", receiver)
                    let url = receiver.url
                    let cases: [(arguments: [String], code: Int32, named: String)] = [
                        (["endpoint", "create", "shop", url], 1, "endpoint shop exists"),
                        (["endpoint", "create", "web", url, "--type", "acces.changed"], 2, "did you mean access.changed?"),
                        (["endpoint", "create", "web", "http://192.0.2.1/x"], 2, "192.0.2.1"),
                        (["endpoint", "show", "shpo"], 1, "did you mean shop?"), (["endpoint", "pause", "web"], 1, "there is no endpoint"),
                        (["endpoint", "remove", "shopp"], 1, "did you mean shop?"), (["endpoint", "sceret", "shop"], 2, "sceret"),
                        (["endpoint", "resume", "shop", "--after", "99"], 1, "after must be from 0 to 0"),
                        (["redeliver", "shop"], 2, "name a range"), (["redeliver", "shpo", "--only-failed"], 1, "did you mean shop?"),
                    ]
                    for (arguments, code, named) in cases {
                        let result = try await installation.run(arguments)
                        #expect(result.ending == .exit(code), "\(arguments): \(result.errors)")
                        #expect(result.errors.contains(named), "\(arguments): \(result.errors)")
                        #expect(result.output.isEmpty)
                    }
                    for role in ["appstore_viewer", "appstore_worker", "appstore_backend"] {
                        let refused = try await installation.run(["endpoint", "create", "web", url], as: role)
                        #expect((refused.ending, refused.output) == (.exit(1), ""))
                        #expect(refused.errors.contains("connect as appstore_operator"), "\(role): \(refused.errors)")
                    }
                    let nowhere = ["APPSTORE_INBOX_DATABASE_URL": "host=127.0.0.1 port=9 user=appstore_operator password=hunter2 dbname=x"]
                    let without = try await installation.run(["endpoint", "list"], nowhere)
                    #expect(without.ending == .exit(1) && without.errors.contains("refused"), "\(without.errors)")
                    #expect(!without.errors.contains("hunter2"))
                    #expect(try await installation.sql.values("SELECT name FROM appstore.endpoints") == ["shop"])
                }
            }
        }

        @Test func `without a webhook secret nothing is created, and the command says how to make one`() async throws {
            try await Installation.lend { installation in
                try await WebhookReceiver.with { receiver in
                    let missing = ["APPSTORE_INBOX_WEBHOOK_SECRET_FILE": installation.folder.appending(path: "nothing").path]
                    let refused = try await installation.run(["endpoint", "create", "shop", receiver.url], missing)
                    #expect(refused.ending == .exit(78) && refused.errors.contains("there is no such file"), "\(refused.errors)")
                    let url = ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_operator")]
                    let none = try await Program.run(["endpoint", "create", "shop", receiver.url], settings: url)
                    #expect(none.ending == .exit(78) && none.errors.contains("openssl rand -base64 48 |"), "\(none.errors)")
                    try installation.write(webhookSecret: "hunter2")
                    let short = try await installation.run(["endpoint", "create", "shop", receiver.url])
                    #expect(short.ending == .exit(78) && !short.errors.contains("hunter2"), "\(short.errors)")
                    #expect(try await installation.sql.value(Int.self, "SELECT count(*) FROM appstore.endpoints") == 0)
                    let isOn = try await installation.sql.value(Bool.self, "SELECT is_on FROM appstore.feed_switch")
                    #expect(!isOn)
                }
            }
        }

        @Test func `redeliver counts, sends a range again with the ids of then, and repeats what failed`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.purchases(20))
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await installation.startWebhookWorker(for: shop)
                try await WebhookReceiver.with { receiver in
                    _ = try await installation.makeEndpoint("shop", receiver, ["--type", "effect.granted"])
                    _ = try await ingest.client.post(bodies)
                    try await sql.settled(bodies.count)
                    let first = try await receiver.webhooks(20).map(\.id)
                    let upto = try await sql.value(
                        Int64.self,
                        "SELECT max(position) FROM (SELECT position FROM appstore.feed WHERE type = 'effect.granted' ORDER BY position LIMIT 5) AS f"
                    )
                    try await eventually("all are delivered") {
                        try await sql.value(Int64.self, "SELECT lag FROM appstore.endpoint_status") == 0
                    }
                    let range = ["redeliver", "shop", "--upto-position", "\(upto)", "--type", "effect.*"]
                    let counted = try await installation.run(range + ["--dry-run", "--json"]).json()
                    #expect((counted.text("state"), counted.number("entries")) == ("counted", "5"))
                    #expect(receiver.received.count == 20)
                    let sent = try await installation.run(range + ["--wait", "--note", "lost at our side"])
                    #expect(
                        sent.ending == .exit(0) && sent.output.hasPrefix("5 entries will be delivered again, as redelivery 1.\n"),
                        "\(sent.errors)"
                    )
                    #expect(sent.output.contains("done, 5 sent"), "\(sent.output)")
                    let again = try await receiver.webhooks(25).suffix(5).map(\.id)
                    #expect(Set(again).isSubset(of: first) && Set(again).count == 5)
                    let noted = try await sql.values("SELECT note FROM appstore.audit_log WHERE action = 'redeliver'")
                    #expect(noted == ["lost at our side"])
                    let none = try await installation.run(["redeliver", "shop", "--only-failed"])
                    #expect(none.output == "0 entries will be delivered again.\n", "\(none.errors)")
                }
            }
        }

        @Test func `the types that the commands know are those of the feed`() async throws {
            try await Installation.lend { installation in
                let types = try await installation.sql.values("SELECT unnest(appstore.feed_types())")
                let help = try await Program.run(["endpoint", "create", "--help"]).output.split { $0.isWhitespace || $0 == "," }
                #expect(Set(types).isSubset(of: Set(help.map { $0.hasSuffix(".") ? String($0.dropLast()) : String($0) })))
            }
        }

        @Test func `doctor names what is wrong with endpoints`() async throws {
            let shop = try Shop()
            try await Installation.lend { installation in
                _ = try await installation.startWebhookWorker(for: shop)
                try await WebhookReceiver.with { receiver in
                    for name in ["good", "off", "late"] { _ = try await installation.makeEndpoint(name, receiver) }
                    let well = try await endpointFindings(installation)
                    #expect(well.map(\.status) == ["ok", "ok", "ok", "ok"], "\(well)")
                    _ = try await installation.run(["endpoint", "pause", "late", "--note", "holiday"])
                    try await installation.sql.execute(
                        "UPDATE appstore.endpoints SET state = 'disabled', why = '410 Gone', epoch = epoch + 1 WHERE name = 'off'"
                    )
                    try FileManager.default.removeItem(at: installation.webhookSecret)
                    let troubles = try await endpointFindings(installation)
                    #expect(troubles.map(\.status) == ["failure", "ok", "warning", "failure"], "\(troubles)")
                    #expect(troubles[2].found == "paused: holiday" && troubles[3].found == "disabled: 410 Gone", "\(troubles)")
                }
            }
        }

        private func endpointFindings(_ installation: Installation) async throws -> [(status: String, found: String)] {
            let settings = [
                "APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_viewer"),
                "APPSTORE_INBOX_WEBHOOK_SECRET_FILE": installation.webhookSecret.path,
            ]
            let result = try await Program.run(["doctor", "--json"], settings: settings).json()
            return result.documents("findings").filter { $0.text("group") == "webhooks" }
                .map { ($0.text("status") ?? "", $0.text("found") ?? "") }
        }
    }
}
