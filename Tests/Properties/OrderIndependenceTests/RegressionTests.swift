import AppStore
import FoundationEssentials
import InboxTesting
import LivesTesting
import PostgresTesting
import Randomness
import StoreSimulator
import Testing

/// Known problems of shops that keep such a ledger themselves, each as a readable test. The property tests imply most of them.
///
/// Elsewhere: an OCSP outage is no bad signature (AppStoreVerificationTests, NetworkTests), and an alert when notifications stop
/// (EndToEndTests, OperatorCommandTests).
struct RegressionTests {
    private let token = UUID()

    @Test func `concurrent deliveries of one notification count once`() async throws {
        try await RegressionScene.play { scene in
            let purchase = try scene.life.subscribe(appAccountToken: token)
            let events = (0..<16).map { _ in scene.event(purchase) }
            let facts = try events.map { try UnsignedFacts.facts(of: [$0]).map(LedgerFixture.Step.event) }
            let ledger = scene.ledger
            try await withThrowingTaskGroup(of: Void.self) { group in
                for fact in facts { group.addTask { try await ledger.process(fact) } }
                try await group.waitForAll()
            }
            #expect(try await scene.orders() == ["Production - paid"])
            #expect(try await scene.effects() == ["1 granted"])
        }
    }

    @Test func `a late old event does not overwrite newer state`() async throws {
        try await RegressionScene.play { scene in
            let purchase = try scene.life.subscribe(appAccountToken: token)
            let autoRenewOff = try scene.life.turnAutoRenewOff()
            let end = try scene.life.expire(.voluntary)
            try await scene.take(end, autoRenewOff, purchase)
            #expect(try await scene.contracts() == ["Production - 2 ends"])
            #expect(try await scene.access() == [end.transaction?.expiresDate?.millisecondsSince1970])
        }
    }

    @Test func `turning auto-renewal off a second time counts, although charge and type are those of the first`() async throws {
        try await RegressionScene.play { scene in
            try await scene.take(try scene.life.subscribe())
            try await scene.take(try scene.life.turnAutoRenewOff(), try scene.life.turnAutoRenewOn())
            #expect(try await scene.contracts() == ["Production - 1 renews"])
            try await scene.take(try scene.life.turnAutoRenewOff())
            #expect(try await scene.contracts() == ["Production - 1 ends"])
            #expect(try await scene.effects() == ["1 granted", "2 will_not_renew", "1 will_renew"])
        }
    }

    @Test func `a notification may arrive before the order that names the user`() async throws {
        try await RegressionScene.play { scene in
            let purchase = try scene.life.subscribe(appAccountToken: token)
            let renewal = try scene.life.renew()
            try await scene.take(renewal, purchase)
            #expect(try await scene.orders() == ["Production - paid", "Production - paid"])
            try await scene.order(token, user: "anna", for: purchase)
            #expect(try await scene.orders() == ["Production anna paid", "Production anna paid"])
            #expect(try await scene.contracts() == ["Production anna 1 renews"])
        }
    }

    @Test func `a purchase without appAccountToken belongs to the first user who posts it in time`() async throws {
        try await RegressionScene.play { scene in
            let purchase = try scene.life.subscribe()
            try await scene.take(purchase)
            try await scene.take(try scene.post(purchase, by: "late", after: .seconds(73 * 3600)))
            #expect(try await scene.contracts() == ["Production - 1 renews"])
            try await scene.take(try scene.post(purchase, by: "thief", after: .seconds(3600)))
            #expect(try await scene.contracts() == ["Production thief 1 renews"])
            // The time of receipt counts, not the order of processing.
            try await scene.take(try scene.post(purchase, by: "anna", after: .seconds(5)))
            #expect(try await scene.contracts() == ["Production anna 1 renews"])
            #expect(try await scene.orders() == ["Production anna paid"])
        }
    }

    @Test func `another account's purchase on the same Apple ID owns its own renewals and no earlier ones`() async throws {
        try await RegressionScene.play { scene in
            let others = UUID()
            let first = try scene.life.subscribe(appAccountToken: token)
            let renewal = try scene.life.renew()
            _ = try scene.life.turnAutoRenewOff()
            _ = try scene.life.expire(.voluntary)
            let second = try scene.life.subscribe(appAccountToken: others)
            let secondRenewal = try scene.life.renew()
            try await scene.order(token, user: "anna", for: first)
            try await scene.order(others, user: "berta", for: second)
            try await scene.take(first, second, secondRenewal, renewal)
            #expect(
                try await scene.orders() == [
                    "Production anna paid", "Production anna paid", "Production berta paid", "Production berta paid",
                ]
            )
            #expect(try await scene.contracts() == ["Production berta 1 renews"])
        }
    }

    @Test func `the refund of an old period leaves current access`() async throws {
        try await RegressionScene.play { scene in
            let purchase = try scene.life.subscribe(appAccountToken: token)
            let renewal = try scene.life.renew()
            let refund = try scene.life.refund(purchase.transactionID)
            try await scene.take(refund, renewal)
            #expect(try await scene.access() == [renewal.transaction?.expiresDate?.millisecondsSince1970])
            #expect(try await scene.orders() == ["Production - refunded", "Production - paid"])
        }
    }

    @Test func `Sandbox and Production never mix`() async throws {
        try await RegressionScene.play { scene in
            let purchase = try scene.life.subscribe(appAccountToken: token)
            try await scene.order(token, user: "anna", for: purchase)
            var tester = RegressionScene(ledger: scene.ledger, environment: .sandbox)
            // The same token and transactionIds: Apple may use the same numbers in both environments.
            var test = purchase
            test.app.environment = .sandbox
            try await tester.take(test, try tester.life.subscribe(appAccountToken: token), try tester.life.refund())
            #expect(try await scene.orders().filter { $0.hasPrefix("Production") } == ["Production anna pending"])
            #expect(try await scene.contracts().filter { $0.hasPrefix("Production") } == [])
            let before = try await scene.ledger.digests().filter { $0.hasPrefix("Sandbox") }
            try await scene.take(purchase, try scene.life.refund())
            #expect(try await scene.orders().filter { $0.hasPrefix("Production") } == ["Production anna refunded"])
            #expect(try await scene.ledger.digests().filter { $0.hasPrefix("Sandbox") } == before)
        }
    }
}
