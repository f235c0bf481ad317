import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import Testing

extension EndToEndInterfaces {
    /// `appstore-inbox-lab trigger` against both daemons.
    @Suite struct TriggerCommandTests {
        @Test func `trigger waits and names the event, its outcome and its reason`() async throws {
            try await withLab { lab in
                let done = try await lab.trigger(["TEST", "--wait"])
                #expect(done.ending == .exit(0), "\(done.errors)")
                #expect(done.output.hasPrefix("event 1  no_effect") && done.output.split(separator: "\n").count == 1, "\(done.output)")

                let forged = try await lab.trigger(["SUBSCRIBED/INITIAL_BUY", "--forged", "--wait", "20"])
                #expect(forged.ending == .exit(1))
                #expect(forged.output.hasPrefix("event 2  rejected: signature_invalid  SUBSCRIBED/INITIAL_BUY  transaction "))
                #expect(forged.output.hasSuffix("  why: appstore-inbox explain 2\n"), "\(forged.output)")

                let twice = try await lab.trigger(["ONE_TIME_CHARGE", "--repeat", "2", "--wait", "--json"])
                #expect(twice.ending == .exit(0), "\(twice.errors)")
                let reports = try twice.output.split(separator: "\n").map { try JSONDocument(String($0)) }
                #expect(reports.map { $0.number("event") } == ["3", "4"])
                #expect(reports.map { $0.text("result") } == ["applied", "duplicate"])

                let unread = try await lab.trigger(["TEST"])
                #expect(unread.output.hasPrefix("200  TEST  "), "\(unread.output)")
                try await lab.sql.settled(5)
            }
        }

        @Test func `trigger says what keeps an event from being settled`() async throws {
            try await withLab(hasWorker: false) { lab in
                let late = try await lab.trigger(["TEST", "--wait", "1"])
                #expect(late.ending == .exit(1))
                #expect(late.output.hasPrefix("event 1  not settled after 0 attempts  TEST"), "\(late.output)")
                try await Installation.lend { other in
                    let url = other.database.url(user: "appstore_worker")
                    let elsewhere = try await lab.trigger(["TEST", "--wait", "--database-url", url])
                    #expect(elsewhere.ending == .exit(1))
                    #expect(elsewhere.errors.contains("it must be the one of that ingest"), "\(elsewhere.errors)")
                }
            }
        }

        @Test func `trigger takes the contract of a user further`() async throws {
            try await withLab { lab in
                let order = UUID().uuidString.lowercased()
                try await lab.sql.makeOrder(user: "anna", product: "pro.monthly", no: order)
                let bought = try await lab.trigger([
                    "SUBSCRIBED/INITIAL_BUY", "--wait", "--bundle-id", "com.example.app", "--product-id", "pro.monthly",
                    "--app-account-token",
                    order,
                ])
                #expect(bought.ending == .exit(0), "\(bought.errors)")
                let steps: [(kind: String, active: Bool, renews: Bool)] = [
                    ("DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", true, false),
                    ("DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED", true, true),
                    ("DID_RENEW", true, true), ("DID_FAIL_TO_RENEW", false, true), ("DID_RENEW/BILLING_RECOVERY", true, true),
                    ("REFUND", false, false), ("REFUND_REVERSED", true, false), ("EXPIRED/VOLUNTARY", false, false),
                    ("SUBSCRIBED/RESUBSCRIBE", true, true),
                ]
                for step in steps {
                    let result = try await lab.trigger([step.kind, "--wait", "--user", "anna", "--json"])
                    #expect(result.ending == .exit(0), "\(step.kind): \(result.output)\(result.errors)")
                    #expect(try result.json().text("result") == "applied", "\(step.kind): \(result.output)")
                    let state = try await lab.sql.values(
                        """
                        SELECT concat_ws(' ', user_id, product_id, access_until > now() + interval '5 seconds', will_renew) FROM appstore.contracts
                        """
                    )
                    #expect(state == ["anna pro.monthly \(step.active ? "t" : "f") \(step.renews ? "t" : "f")"], "\(step.kind)")
                }
                let charges = try await lab.sql.values(
                    """
                    SELECT concat_ws(' ', o.user_id, o.status, t.transaction_reason)
                    FROM appstore.transactions AS t JOIN appstore.orders AS o USING (order_no, environment)
                    ORDER BY length(t.transaction_id), t.transaction_id
                    """
                )
                #expect(charges == ["anna paid PURCHASE", "anna paid RENEWAL", "anna paid RENEWAL", "anna paid PURCHASE"])
                let impossible = try await lab.trigger(["REVOKE", "--wait", "--user", "anna"])
                #expect(impossible.ending == .exit(1))
                #expect(impossible.errors.contains("REVOKE is impossible: the customer bought it"), "\(impossible.errors)")
            }
        }

        @Test func `trigger asks which contract of a user it is about`() async throws {
            try await withLab { lab in
                let none = try await lab.trigger(["REFUND", "--user", "ben"])
                #expect(none.ending == .exit(1))
                #expect(none.errors.contains("no contract of user ben is known"), "\(none.errors)")
                for (kind, product) in [("SUBSCRIBED/INITIAL_BUY", "pro.monthly"), ("ONE_TIME_CHARGE", "coins.100")] {
                    let order = UUID().uuidString.lowercased()
                    try await lab.sql.makeOrder(user: "ben", product: product, no: order)
                    let bought = try await lab.trigger([kind, "--wait", "--product-id", product, "--app-account-token", order])
                    #expect(bought.ending == .exit(0), "\(bought.errors)")
                }
                let coins = try await lab.sql.value(
                    String.self,
                    "SELECT original_transaction_id FROM appstore.transactions WHERE product_id = 'coins.100'"
                )
                let several = try await lab.trigger(["REFUND", "--user", "ben"])
                #expect(several.ending == .exit(1))
                #expect(several.errors.contains("user ben has several contracts: choose one with --contract"), "\(several.errors)")
                #expect(several.errors.contains("\(coins)  coins.100  com.example.app  Sandbox"), "\(several.errors)")
                let refunded = try await lab.trigger(["REFUND", "--wait", "--user", "ben", "--contract", coins])
                #expect(refunded.ending == .exit(0), "\(refunded.output)\(refunded.errors)")
                #expect(try await lab.sql.values("SELECT product_id FROM appstore.orders WHERE status = 'refunded'") == ["coins.100"])
            }
        }

        @Test func `trigger posts notifications V1 and receipts`() async throws {
            try await withLab { lab in
                // The state of a renewal in V1 is dated to the second.
                let earlier = "\(Int64(Date().timeIntervalSince1970 - 60) * 1000)"
                let v1 = ["--v1", "--secret-file", lab.secretFile, "--wait"]
                let bought = try await lab.trigger(["INITIAL_BUY", "--product-id", "pro.monthly", "--signed-date", earlier] + v1)
                #expect(bought.ending == .exit(0), "\(bought.output)\(bought.errors)")
                let contract = try await lab.sql.value(String.self, "SELECT original_transaction_id FROM appstore.contracts")
                let off = try await lab.trigger(["DID_CHANGE_RENEWAL_STATUS", "--contract", contract] + v1)
                #expect(off.output.contains("  applied  DID_CHANGE_RENEWAL_STATUS  "), "\(off.output)\(off.errors)")
                #expect(try await lab.sql.values("SELECT will_renew::text FROM appstore.contracts") == ["false"])
                let unknown = try await lab.trigger(["SUBSCRIBED"] + v1)
                #expect(unknown.ending == .exit(2))
                #expect(unknown.errors.contains("SUBSCRIBED is no known notification V1"), "\(unknown.errors)")

                let posted = try await lab.trigger([
                    "SUBSCRIBED/INITIAL_BUY", "--receipt", "--wait", "--user", "clara", "--to", lab.receiptsURL, "--key-file", lab.keyFile,
                    "--product-id", "basic.monthly",
                ])
                #expect(posted.ending == .exit(0), "\(posted.output)\(posted.errors)")
                #expect(
                    try await lab.sql.values("SELECT user_id FROM appstore.contracts WHERE product_id = 'basic.monthly'") == ["clara"]
                )
                let secret = try String(contentsOfFile: lab.secretFile, encoding: .utf8).prefix(16)
                for result in [bought, off, unknown, posted] { #expect(!(result.output + result.errors).contains(secret)) }
            }
        }

        @Test(arguments: [
            (["REFUND", "--user", "a", "--bundle-id", "b.c"], "--bundle-id is that of the existing contract"),
            (["REFUND", "--v1"], "--v1 requires --secret-file"), (["REFUND", "--receipt", "--user", "a"], "--receipt requires --to"),
            (["REFUND", "--forged", "--v1"], "exclude each other"), (["TEST", "--wait", "0"], "--wait must be"),
        ])
        func `trigger refuses options that contradict each other`(arguments: [String], words: String) async throws {
            let result = try await Program.run(["trigger"] + arguments, program: BuiltProgram.labPath())
            #expect(result.ending == .exit(2))
            #expect(result.errors.contains(words), "\(result.errors)")
        }

        @Test func `trigger lists its types, subtypes and variants without posting`() async throws {
            let result = try await Program.run(["trigger", "--list"], program: BuiltProgram.labPath())
            #expect(result.ending == .exit(0), "\(result.errors)")
            let lines = result.output.split(separator: "\n")
            #expect(lines.contains("REFUND/SEATS") && lines.contains("REVOKE:assigned  a member who is removed from a group"))
        }

        private func withLab(hasWorker: Bool = true, _ body: (Lab) async throws -> Void) async throws {
            try await Installation.lend { installation in
                let lab = try Lab(installation)
                let secrets = ["APPSTORE_INBOX_SHARED_SECRETS_DIRECTORY": installation.folder.appending(path: "secrets").path]
                let (ingest, api) = try await installation.startIngestWithAPI(secrets)
                let backend = try await installation.makeBackend(api, ["--environment", "Sandbox"])
                try Data(backend.key.utf8).write(to: URL(filePath: lab.keyFile))
                let root = try await Program.run(["trigger", "--root-only", "--ca", lab.authority], program: BuiltProgram.labPath())
                #expect(root.ending == .exit(0), "\(root.errors)")
                if hasWorker {
                    _ = try await installation.startWorker([
                        "APPSTORE_INBOX_APPS": "com.example.app", "APPSTORE_INBOX_VERIFY_RECEIPT": "local",
                        "APPSTORE_INBOX_EXTRA_ROOTS": root.output.trimmingCharacters(in: .whitespacesAndNewlines),
                    ])
                }
                var ready = lab
                (ready.port, ready.apiPort) = (ingest.client.port, api.port)
                try await body(ready)
            }
        }
    }
}

/// What a developer has at hand: an authority, the files with secrets, and the addresses of the daemons.
private struct Lab {
    let sql: SQLAccess
    let authority: String
    let secretFile: String
    let keyFile: String
    private let worker: String
    var port = 0
    var apiPort = 0

    init(_ installation: Installation) throws {
        sql = installation.sql
        authority = installation.folder.appending(path: "ca").path
        keyFile = installation.folder.appending(path: "key").path
        worker = installation.database.url(user: "appstore_worker")
        let secrets = installation.folder.appending(path: "secrets")
        try FileManager.default.createDirectory(at: secrets, withIntermediateDirectories: true)
        secretFile = secrets.appending(path: "com.example.app").path
        try Data("0123456789abcdef0123456789abcdef\n".utf8).write(to: URL(filePath: secretFile))
    }

    var receiptsURL: String { "http://127.0.0.1:\(apiPort)/v1/receipts" }

    func trigger(_ arguments: [String]) async throws -> Program.Result {
        try await Program.run(
            ["trigger", "--ca", authority] + arguments,
            settings: ["APPSTORE_INBOX_LISTEN": "127.0.0.1:\(port)", "APPSTORE_INBOX_DATABASE_URL": worker],
            program: BuiltProgram.labPath()
        )
    }
}
