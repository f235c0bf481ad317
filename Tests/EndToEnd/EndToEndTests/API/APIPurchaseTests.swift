import AppStore
import EndToEndTesting
import Foundation
import Postgres
import StoreSimulator
import StrictJSON
import Testing

extension EndToEndInterfaces {
    /// A purchase as the shop's backend sees it, from the client's post, Apple's notification, or both.
    @Suite struct APIPurchaseTests {
        /// A purchase some hours ago.
        private func purchase(
            in shop: inout Shop,
            token: UUID? = nil,
            hoursAgo: Int = 1
        ) throws -> (notification: SimulatedNotification, charge: SimulatedTransaction) {
            let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
            var life = shop.makeCustomer()
            life.advance(to: now.advanced(by: .seconds(-hoursAgo * 3600)))
            let notification = try life.subscribe(to: shop.plan, appAccountToken: token)
            return (notification, try #require(life.subscription?.current))
        }

        /// The JWS that StoreKit gives the app: the same charge, signed later than the notification.
        private func clientJWS(_ shop: Shop, _ charge: SimulatedTransaction) throws -> [UInt8] {
            try shop.signer.sign(charge, of: shop.app, signedDate: charge.purchaseDate.advanced(by: .seconds(5)))
        }

        @Test(arguments: [true, false])
        func `client and notification bring the same purchase, whichever comes first`(clientComesFirst: Bool) async throws {
            var shop = try Shop()
            try await Installation.lend { installation in
                let (ingest, api) = try await installation.startIngestWithAPI()
                _ = try await installation.startWorker(for: shop)
                let backend = try await installation.makeBackend(api, ["--app", shop.app.bundleID])
                let no = try await backend.makeOrder(user: "ann", product: shop.plan.id)
                let (notification, charge) = try purchase(in: &shop, token: no)
                let jws = try clientJWS(shop, charge)

                if !clientComesFirst {
                    #expect(try await ingest.client.post(shop.body(notification)).status == 200)
                    try await installation.sql.settled(1)
                }
                let answer = try await backend.submit(jws, user: "ann")
                #expect(answer.status == 200)
                let document = try answer.document()
                #expect(document.text("result") == "applied")
                #expect(document.text("reason") == nil)
                #expect(document.text("transactionId") == charge.transactionID)
                #expect(String(decoding: answer.body, as: UTF8.self).contains(#""product":"\#(shop.plan.id)""#))
                if clientComesFirst { #expect(try await ingest.client.post(shop.body(notification)).status == 200) }
                try await installation.sql.settled(2)

                #expect(try await backend.usable(by: "ann") == [shop.plan.id])
                let order = try await installation.sql.values(
                    "SELECT status || ' ' || transaction_id FROM appstore.orders WHERE order_no = \(no)"
                )
                #expect(order == ["paid \(charge.transactionID)"])
                let granted = try await installation.sql.values("SELECT subject FROM appstore.effects WHERE kind = 'granted'")
                #expect(granted.count == 1)
                let contract = try await backend.send("GET", "/v1/subscriptions/\(charge.originalTransactionID)")
                #expect(try contract.document().text("user") == "ann")
                let event = try await backend.send("GET", try #require(document.text("url")))
                #expect(try event.document().text("result") == "applied")
                #expect(try await ingest.daemon.terminate() == .exit(0))
                #expect(ingest.daemon.warnings == [])
            }
        }

        @Test func `a post of another user's purchase is answered with a conflict and nothing else`() async throws {
            var shop = try Shop()
            try await Installation.lend { installation in
                let (_, api) = try await installation.startIngestWithAPI()
                _ = try await installation.startWorker(for: shop)
                let backend = try await installation.makeBackend(api)
                let no = try await backend.makeOrder(user: "ann-the-owner", product: shop.plan.id)
                let (_, charge) = try purchase(in: &shop, token: no)
                let conflict = try await backend.submit(clientJWS(shop, charge), user: "bob")
                #expect((conflict.status, conflict.problem) == (409, "owner-conflict"))
                #expect(!String(decoding: conflict.body, as: UTF8.self).contains("ann"))
                #expect(try await backend.usable(by: "bob") == [])
                #expect(try await backend.usable(by: "ann-the-owner") == [shop.plan.id], "the purchase itself is genuine")
                let event = try await installation.sql.settled(1)[0]
                let seen = try await backend.send("GET", "/v1/events/\(event.eventID)")
                #expect(try seen.document().text("reason") == "owner_conflict")
                #expect(!String(decoding: seen.body, as: UTF8.self).contains("ann"))
                #expect(try await backend.submit(clientJWS(shop, charge), user: "ann-the-owner").status == 200)
            }
        }

        @Test func `a purchase without token is the user's who posts it, also after 72 hours, until it is linked`() async throws {
            var shop = try Shop()
            try await Installation.lend { installation in
                let (_, api) = try await installation.startIngestWithAPI()
                _ = try await installation.startWorker(for: shop)
                let backend = try await installation.makeBackend(api)
                let (_, charge) = try purchase(in: &shop, hoursAgo: 73)
                let answer = try await backend.submit(clientJWS(shop, charge), user: "ann")
                #expect(answer.status == 200)
                #expect(try await backend.usable(by: "ann") == [shop.plan.id])
                let path = "/v1/contracts/\(charge.originalTransactionID)/owner"
                #expect(try await backend.send("PUT", path, ["user": "bob"]).status == 200)
                #expect(try await backend.usable(by: "bob") == [shop.plan.id])
                #expect(try await backend.usable(by: "ann") == [])
                #expect(try await backend.send("PUT", "/v1/contracts/1/owner", ["user": "ann"]).problem == "no-such-contract")
            }
        }

        @Test func `a transaction that is forged, of another app or of another environment is rejected without effect`() async throws {
            var shop = try Shop()
            var untrusted = try Shop(authority: Shop.untrustedAuthority())
            var sandbox = try Shop(environment: .sandbox)
            try await Installation.lend { installation in
                let (_, api) = try await installation.startIngestWithAPI()
                _ = try await installation.startWorker(for: shop)
                let backend = try await installation.makeBackend(api)
                let otherApp = try await installation.makeBackend(api, ["--app", "com.example.dunes"])
                let genuine = try clientJWS(shop, purchase(in: &shop).charge)
                let forged = try clientJWS(untrusted, purchase(in: &untrusted).charge)
                let sandboxed = try clientJWS(sandbox, purchase(in: &sandbox).charge)
                for (sender, jws, reason) in [
                    (backend, forged, "untrusted_root"), (otherApp, genuine, "wrong_bundle"), (backend, sandboxed, "wrong_environment"),
                ] {
                    let answer = try await sender.submit(jws, user: "ann")
                    #expect((answer.status, answer.problem) == (422, "transaction-rejected"))
                    #expect(try answer.document().text("reason") == reason)
                }
                #expect(try await installation.sql.areEmpty())
            }
        }
    }
}
