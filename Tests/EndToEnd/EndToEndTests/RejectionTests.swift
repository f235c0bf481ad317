import AppStore
import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
import Testing

extension EndToEnd {
    /// Well-formed bodies that must have no effect.
    @Suite struct RejectionTests {
        @Test func `a body that the App Store did not sign is rejected with its reason and changes nothing`() async throws {
            var shop = try Shop()
            let untrusted = try Shop(authority: Shop.untrustedAuthority())
            var life = shop.makeCustomer()
            let purchase = try life.subscribe()
            let forgeries: [(body: [UInt8], reason: String)] = [
                (Array(#"{"signedPayload":"YQ.YQ.YQ"}"#.utf8), "header_not_json"),
                (try untrusted.body(purchase), "untrusted_root"),
                (try shop.signer.forge(purchase, .payloadAltered).body, "signature_invalid"),
                (try shop.signer.forge(purchase, .signatureDamaged).body, "signature_invalid"),
                (try shop.signer.forge(purchase, .transactionAltered).body, "signature_invalid"),
                (try shop.signer.forge(purchase, .foreignRenewalInfo).body, "original_transaction_id_disagreement"),
                (try shop.signer.forge(purchase, .nestedTruncated).body, "malformed_jws_parts"),
                (Self.posted(try Self.transactionJWS(of: purchase, shop)), "wrong_kind"),
            ]
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                _ = try await installation.startWorker(for: shop)
                let answers = try await ingest.client.post(forgeries.map(\.body))
                #expect(answers.allSatisfy { $0.status == 200 }, "only the worker verifies")
                let events = try await installation.sql.settled(forgeries.count)
                #expect(events.map(\.outcome) == forgeries.map { _ in "rejected" })
                #expect(events.map(\.reason) == forgeries.map(\.reason))
                #expect(try await installation.sql.areEmpty())

                _ = try await ingest.client.post(shop.body(purchase))
                let genuine = try await installation.sql.settled(forgeries.count + 1).last
                #expect(genuine?.outcome == "applied", "a forged copy must not suppress the genuine one")
            }
        }

        @Test func `notifications of other apps and environments are rejected`() async throws {
            var here = try Shop(bundleID: "com.example.tides")
            var elsewhere = try Shop(bundleID: "com.example.other", seed: 2)
            var sandbox = try Shop(bundleID: "com.example.tides", environment: .sandbox, seed: 3)
            let bodies = [
                try elsewhere.body(elsewhere.purchases(1)[0]), try sandbox.body(sandbox.purchases(1)[0]),
                try here.body(here.purchases(1)[0]),
            ]
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                _ = try await installation.startWorker(for: here, ["APPSTORE_INBOX_ENVIRONMENTS": "Production"])
                _ = try await ingest.client.post(bodies)
                let events = try await installation.sql.settled(3)
                #expect(events.map(\.outcome) == ["rejected", "rejected", "applied"])
                #expect(events.map(\.reason) == ["wrong_bundle", "wrong_environment", nil])
                #expect(
                    events.map(\.notificationType) == ["SUBSCRIBED", "SUBSCRIBED", "SUBSCRIBED"],
                    "an operator must see the rejected types"
                )
                #expect(try await installation.sql.value(Int.self, "SELECT count(*) FROM appstore.transactions") == 1)
            }
        }

        @Test func `an extra root is trusted for Sandbox only, unless Production is listed`() async throws {
            var production = try Shop()
            var sandbox = try Shop(environment: .sandbox, seed: 2)
            let bodies = [try production.body(production.purchases(1)[0]), try sandbox.body(sandbox.purchases(1)[0])]
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                let root = try installation.rootPath(of: sandbox)
                let worker = try await installation.startWorker(for: production, ["APPSTORE_INBOX_EXTRA_ROOTS": root])
                _ = try await ingest.client.post(bodies)
                let events = try await installation.sql.settled(2)
                #expect(events.map(\.outcome) == ["rejected", "applied"])
                #expect(events[0].reason == "environment_not_trusted_by_root")
                #expect(!worker.log.contains("is trusted for Production"))

                let trusting = try await installation.startWorker(for: production)
                try await eventually("the worker has warned") { trusting.log.contains("is trusted for Production") }
            }
        }

        @Test func `the App Apple ID must be the configured one`() async throws {
            let app = SimulatedApp(bundleID: "com.example.tides", appAppleID: 1_470_168_868, environment: .production)
            let shop = try Shop()
            var store = SimulatedStore(app: app, seed: 5, now: shop.store.now)
            var life = store.makeCustomer()
            let bodies = try shop.bodies([try life.subscribe(), try life.turnAutoRenewOff()])
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                let wrong = try await installation.startWorker(for: shop, ["APPSTORE_INBOX_APPS": "com.example.tides:1470168869"])
                _ = try await ingest.client.post(bodies[0])
                let rejected = try await installation.sql.settled(1)[0]
                #expect((rejected.outcome, rejected.reason) == ("rejected", "wrong_app_apple_id"))
                #expect(try await wrong.terminate() == .exit(0))

                _ = try await installation.startWorker(for: shop, ["APPSTORE_INBOX_APPS": "com.example.tides:1470168868"])
                _ = try await ingest.client.post(bodies[1])
                #expect(try await installation.sql.settled(2)[1].outcome == "applied")
            }
        }

        private static func posted(_ jws: [UInt8]) -> [UInt8] {
            Array(#"{"signedPayload":""#.utf8) + jws + Array(#""}"#.utf8)
        }

        /// A genuine JWS that is no notification.
        private static func transactionJWS(of notification: SimulatedNotification, _ shop: Shop) throws -> [UInt8] {
            guard let transaction = notification.transaction else { return [] }
            return try shop.signer.sign(transaction, of: shop.app, signedDate: notification.signedDate)
        }
    }
}
