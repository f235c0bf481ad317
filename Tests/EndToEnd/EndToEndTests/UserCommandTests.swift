import AppStore
import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
import StrictJSON
import Testing

extension EndToEndInterfaces {
    /// `appstore-inbox user`.
    @Suite struct UserCommandTests {
        private func page(
            of user: String,
            _ arguments: [String] = [],
            in installation: Installation,
            as role: String = "appstore_viewer"
        ) async throws -> Program.Result {
            try await Program.run(
                ["user", user] + arguments,
                settings: ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: role)]
            )
        }

        /// The JWS that StoreKit gives the app.
        private func clientJWS(_ shop: Shop, _ charge: SimulatedTransaction) throws -> [UInt8] {
            try shop.signer.sign(charge, of: shop.app, signedDate: charge.purchaseDate.advanced(by: .seconds(5)))
        }

        @Test(arguments: ["appstore_viewer", "appstore_operator"])
        func `a page has entitlements and why, orders, contracts, what needs attention, and the timeline`(role: String) async throws {
            var shop = try Shop()
            var untrusted = try Shop(authority: Shop.untrustedAuthority())
            let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
            var (life, strange) = (shop.makeCustomer(), untrusted.makeCustomer())
            life.advance(to: now.advanced(by: .seconds(-3600)))
            try await Installation.lend { installation in
                let (ingest, api) = try await installation.startIngestWithAPI()
                _ = try await installation.startWorker(for: shop)
                let backend = try await installation.makeBackend(api)
                let (paid, unpaid) = (
                    try await backend.makeOrder(user: "ann", product: shop.plan.id),
                    try await backend.makeOrder(user: "ann", product: "coins")
                )
                _ = try await ingest.client.post(shop.body(life.subscribe(to: shop.plan, appAccountToken: paid)))
                let charge = try #require(life.subscription?.current)
                // Otherwise the post may be settled first, without what the notification says of the renewal.
                _ = try await installation.sql.settled(1)
                #expect(try await backend.submit(clientJWS(shop, charge), user: "bob").problem == "owner-conflict")
                _ = try strange.subscribe(to: shop.plan)
                let forged = try clientJWS(untrusted, #require(strange.subscription?.current))
                #expect(try await backend.submit(forged, user: "ann").status == 422)

                let ann = try await page(of: "ann", in: installation, as: role)
                #expect((ann.ending, ann.errors) == (.exit(0), ""))
                let parts = ann.output.components(separatedBy: "\n\n")
                #expect(
                    parts.map { String($0.prefix { $0 != "\n" }) } == [
                        "ann in Production", "entitlements", "orders", "contracts, as Apple described them last", "needs attention",
                        "timeline",
                    ]
                )
                let (number, contract) = (paid.uuidString.lowercased(), charge.originalTransactionID)
                for (part, words) in [
                    (1, "\(shop.plan.id)  active  paid, until "), (1, ", renews then"), (2, "\(number)  paid     \(shop.plan.id)"),
                    (2, "\(unpaid.uuidString.lowercased())  pending  coins"), (2, "transaction \(charge.transactionID)"),
                    (3, "\(contract)  \(shop.plan.id)  \(shop.app.bundleID)  active  renews  gives access until "),
                    (4, "order \(unpaid.uuidString.lowercased()) of coins is not paid"), (4, "owner_conflict, named by bob; SELECT"),
                    (4, "rejected untrusted_root; appstore-inbox explain 3"), (5, "granted"), (5, "order_paid"), (5, "#1"),
                ] {
                    #expect(parts[part].contains(words), "\(words) is not in:\n\(parts[part])")
                }
                let bob = try await page(of: "bob", in: installation, as: role)
                for words in [
                    "entitlements\n  none", "orders\n  none", "belongs to ann",
                    "SELECT appstore.link_owner('Production', '\(contract)', 'bob')",
                ] {
                    #expect(bob.output.contains(words), "\(words) is not in:\n\(bob.output)")
                }
                let json = try await page(of: "ann", ["--json"], in: installation, as: role).json()
                #expect(
                    json.object.members.map(\.name).sorted() == [
                        "contracts", "entitlements", "environment", "orders", "posts", "timeline", "timeline_length", "unmatched",
                        "user_id",
                    ]
                )
                #expect(json.documents("entitlements").map { $0.text("why") } == ["active"])
                #expect(json.documents("orders").map { $0.text("status") } == ["paid", "pending"])
                #expect(json.documents("posts").map { $0.text("reason") } == ["untrusted_root"])
                #expect(json.documents("posts")[0].object["body"] == nil, "the post itself is not shown")
                #expect(json.number("timeline_length") == "\(json.documents("timeline").count)")
            }
        }

        @Test func `a long page shows the latest rows and says how many are left out`() async throws {
            var shop = try Shop()
            var life = shop.makeCustomer()
            let token = UUID()
            var notifications = [try life.subscribe(to: shop.plan, appAccountToken: token)]
            for _ in 0..<5 { notifications.append(try life.renew()) }
            for _ in 0..<12 { notifications += [try life.turnAutoRenewOff(), try life.turnAutoRenewOn()] }
            let bodies = try shop.bodies(notifications)
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                _ = try await installation.startWorker(for: shop)
                try await installation.sql.makeOrder(user: "ann", product: shop.plan.id, no: token.uuidString)
                for _ in 0..<19 { try await installation.sql.makeOrder(user: "ann", product: "coins", no: UUID().uuidString) }
                _ = try await ingest.client.post(bodies)
                try await installation.sql.settled(bodies.count)
                let json = try await page(of: "ann", ["--json"], in: installation).json()
                let length = json.documents("timeline").count
                #expect((json.documents("orders").count, json.number("timeline_length")) == (25, "\(length)"))
                let text = try await page(of: "ann", in: installation).output
                #expect(text.contains("orders\n  … 5 earlier ones are left out: see --json\n"), "\(text)")
                #expect(text.contains("  16 earlier orders are not paid either\n  order ") && text.contains("gave access until"), "\(text)")
                #expect(text.contains("timeline\n  … \(length - 30) earlier ones are left out: see --json\n"), "\(text)")
                let entries = text.components(separatedBy: "\ntimeline\n")[1].split(separator: "\n").dropFirst()
                #expect(
                    entries.count == 30 && entries.map { $0.prefix(18) } == entries.map { $0.prefix(18) }.sorted(),
                    "newest last: \(text)"
                )
            }
        }

        @Test func `an unknown user is said to be unknown, with what to look for`() async throws {
            var shop = try Shop(environment: .sandbox)
            let token = UUID()
            var life = shop.makeCustomer()
            let purchase = try shop.body(life.subscribe(to: shop.plan, appAccountToken: token))
            try await Installation.lend { installation in
                let absent = try await page(of: "o'neil", in: installation)
                #expect((absent.ending, absent.output) == (.exit(1), ""))
                #expect(absent.errors.hasPrefix(#"nothing is known of a user "o'neil" in Production: "#), "\(absent.errors)")
                #expect(absent.errors.contains("SELECT appstore.link_owner('Production', '…', 'o''neil')"))

                let ingest = try await installation.startIngest()
                _ = try await installation.startWorker(for: shop)
                _ = try await ingest.client.post(purchase)
                try await installation.sql.settled(1)
                let contract = try await installation.sql.values("SELECT original_transaction_id FROM appstore.contracts")[0]
                try await installation.asOperator { connection in
                    _ = try await connection.query("SELECT appstore.link_owner('Sandbox', \(contract), 'tester')")
                }
                let elsewhere = try await page(of: "tester", in: installation)
                #expect(elsewhere.ending == .exit(1) && elsewhere.errors.contains("but in Sandbox: use --environment Sandbox"))
                let found = try await page(of: "tester", ["--environment", "Sandbox"], in: installation)
                #expect(found.ending == .exit(0) && found.output.hasPrefix("tester in Sandbox\n"), "\(found.errors)")
                let wrong = try await page(of: "tester", ["--environment", "sandbox"], in: installation)
                #expect(wrong.ending == .exit(2) && wrong.errors.contains("did you mean Sandbox?"), "\(wrong.errors)")
            }
        }
    }
}
