import AppStore
import FoundationEssentials
import InboxTesting
import LivesTesting
import Postgres
import StoreSimulator
import Testing

/// Known problems of shops whose customers still buy with StoreKit 1, each as a test.
struct LegacyRegressionTests {
    @Test func `the next account on an Apple ID owns its purchases, and a late renewal stays the previous account's`() async throws {
        try await RegressionScene.play { scene in
            let first = try scene.life.subscribe()
            try await scene.take(scene.receipt(by: "anna", naming: first))
            let renewal = try scene.life.renew()
            let lateRenewal = scene.legacy(.didRenew, renewal)
            _ = try scene.life.turnAutoRenewOff()
            _ = try scene.life.expire(.voluntary)
            let second = try scene.life.subscribe()
            try await scene.take(scene.receipt(by: "berta", naming: second))
            try await scene.take(scene.legacy(.didRenew, try scene.life.renew()))
            try await scene.take(lateRenewal)
            #expect(
                try await scene.orders() == [
                    "Production anna paid", "Production anna paid", "Production berta paid", "Production berta paid",
                ]
            )
            #expect(try await scene.contracts() == ["Production berta renews"])
        }
    }

    @Test func `a receipt posted by another user takes over no contract, at no renewal`() async throws {
        try await RegressionScene.play { scene in
            try await scene.take(scene.receipt(by: "anna", naming: try scene.life.subscribe()))
            for _ in 0..<3 {
                try await scene.take(scene.receipt(by: "thief", naming: try scene.life.renew()))
                try await scene.take(scene.receipt(by: "thief", naming: nil))
            }
            #expect(try await scene.contracts() == ["Production anna ends"])
            #expect(Set(try await scene.orders()) == ["Production anna paid"])
        }
    }

    @Test func `a restored contract belongs to the first user who restores it, until stronger evidence arrives`() async throws {
        try await RegressionScene.play { scene in
            let token = UUID()
            let purchase = try scene.life.subscribe(appAccountToken: token)
            try await scene.take(scene.receipt(by: "late", naming: nil, after: .seconds(200)))
            #expect(try await scene.contracts() == ["Production late ends"])
            try await scene.take(scene.receipt(by: "early", naming: nil, after: .seconds(100)))
            #expect(try await scene.contracts() == ["Production early ends"])
            try await scene.order(token, user: "anna", for: purchase)
            try await scene.take(purchase)
            #expect(try await scene.contracts() == ["Production anna 1 renews"])
        }
    }

    @Test func `a body with the shared secret merges no charge that its receipt lacks`() async throws {
        try await RegressionScene.play { scene in
            _ = try scene.life.subscribe()
            let honest = scene.life.subscription?.transactions ?? []
            let renewal = try scene.life.renew()
            let end = try #require(honest.first?.expiresDate)
            // The receipt holds only the first period; the unsigned entries beside it claim a second one.
            try await scene.take(scene.legacy(.didRenew, renewal, receiptHolding: honest))
            #expect(try await scene.orders() == ["Production - paid"])
            #expect(try await scene.effects() == ["1 granted"])
            #expect(try await scene.access() == [end.millisecondsSince1970])
        }
    }

    @Test func `an upgrade is no refund, from any source`() async throws {
        try await RegressionScene.play { scene in
            let plans = scene.life.catalogue.plans
            _ = try scene.life.subscribe(to: plans[0])
            let upgrade = try scene.life.changePlan(to: plans[1])
            try await scene.take(scene.legacy(.interactiveRenewal, upgrade))
            try await scene.take(scene.legacy(.cancel, upgrade, layout: .withoutUpgrades))
            try await scene.take(scene.receipt(by: "anna", naming: upgrade))
            #expect(try await scene.effects() == ["2 granted"])
            #expect(try await scene.orders() == ["Production anna paid", "Production anna paid"])
        }
    }

    @Test func `a family member's token pays no order, even when the ownership is known late`() async throws {
        try await RegressionScene.play { scene in
            let token = UUID()
            scene.joinFamily()
            let share = try scene.life.subscribe(appAccountToken: token)
            try await scene.order(token, user: "anna", for: share)
            try await scene.take(scene.answer(share, layout: .withoutOwnership))
            #expect(try await scene.orders() == ["Production anna paid"])
            try await scene.take(share)
            #expect(try await scene.orders() == ["Production anna pending"])
            let unknown = UUID()
            let other = try scene.life.buy(try #require(scene.life.catalogue.oneTimeProducts.last), appAccountToken: unknown)
            try await scene.take(scene.answer(other, layout: .withoutOwnership))
            try await scene.take(other)
            #expect(try await scene.orders() == ["Production anna pending"])
        }
    }

    @Test func `an order loses its mismatch when the charge turns out to be a family member's`() async throws {
        try await RegressionScene.play { scene in
            let token = UUID()
            scene.joinFamily()
            let share = try scene.life.subscribe(appAccountToken: token)
            try await scene.ledger.run(.createOrder(ShopOrder(no: token.text, user: "anna", product: "something", bundle: nil)))
            let reason: Statement = "SELECT coalesce(reason, '-') FROM appstore.orders"
            try await scene.take(scene.answer(share, layout: .withoutOwnership))
            #expect(try await scene.ledger.database.lines(reason).sorted().last == "product_mismatch")
            try await scene.take(share)
            #expect(try await scene.ledger.database.lines(reason) == ["-"])
        }
    }

    @Test func `a grace period known only from the shared secret extends access and never shortens it`() async throws {
        try await RegressionScene.play { scene in
            let purchase = try scene.life.subscribe()
            let end = try #require(purchase.transaction?.expiresDate).millisecondsSince1970
            try await scene.take(purchase)
            let failure = try scene.life.failToRenew(withGracePeriod: true)
            let grace = try #require(failure.renewalInfo?.gracePeriodExpiresDate).millisecondsSince1970 / 1000 * 1000
            try await scene.take(scene.legacy(.didFailToRenew, failure))
            #expect(try await scene.access() == [max(end, grace)])
            #expect(try await scene.effects() == ["1 grace_period_started", "1 granted"])
        }
    }
}
