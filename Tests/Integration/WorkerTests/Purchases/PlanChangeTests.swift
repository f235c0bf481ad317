import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import Testing

/// Changes of plan whose charges overlap. Apple charges a renewal up to a day before its period begins; an upgrade begins at once.
struct PlanChangeTests {
    private static let month = Sale("basic.monthly", "1000", onDay: -29.5, until: 0.5)
    /// Charged six hours ago, from the end of the first month on.
    private static let renewal = Sale("basic.monthly", "1001", of: "1000", onDay: 0.5, until: 30.5).signed(onDay: -0.25)
    /// Bought an hour ago.
    private static let upgrade = Sale("premium.yearly", "1002", of: "1000", onDay: -0.04, until: 365, price: 99_990)
    /// The renewal, as Apple states it after the upgrade.
    private static let replaced = renewal.with {
        ($0.transaction.isUpgraded, $0.signedDay) = (true, -0.02)
        $0.transaction.upgradedAt = upgrade.transaction.purchaseDate
    }

    private static let premium = ["premium active active 365"]
    private static let orders: [[Int]] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]

    private func with(_ body: (WorkerScene) async throws -> Void) async throws {
        try await WorkerScene.with { scene in
            for (product, entitlement) in [("basic.monthly", "basic"), ("premium.yearly", "premium")] {
                try await scene.run("INSERT INTO appstore.products VALUES ('com.example.app', \(product), \(entitlement), NULL)")
            }
            try await body(scene)
        }
    }

    /// Lets the ledger learn of one of the three charges, by a notification with its renewal info.
    private func notify(_ index: Int, _ scene: WorkerScene) async throws {
        switch index {
        case 0: try await scene.notify(.subscribed, .initialBuy, of: Self.month)
        case 1: try await scene.notify(.didRenew, of: Self.renewal)
        default: try await scene.notify(.didChangeRenewalPref, .upgrade, of: Self.upgrade)
        }
    }

    @Test(arguments: orders)
    func `an upgrade after an early renewal counts at once, as its renewal info says, in any order`(order: [Int]) async throws {
        try await with { scene in
            for index in order { try await notify(index, scene) }
            try await scene.post(Self.upgrade, by: "anna")
            #expect(try await scene.access(of: "anna") == Self.premium)
            #expect(try await scene.database.lines("SELECT count(*)::text FROM appstore.orders WHERE status = 'paid'") == ["3"])
            try await scene.post(Self.replaced, by: "anna")
            #expect(try await scene.access(of: "anna") == Self.premium)
        }
    }

    @Test(arguments: orders)
    func `without renewal infos an upgrade after an early renewal counts as soon as Apple marks the renewal`(order: [Int]) async throws {
        try await with { scene in
            let charges = [Self.month, Self.replaced, Self.upgrade]
            for index in order { try await scene.post(charges[index], by: "anna") }
            #expect(try await scene.access(of: "anna") == Self.premium)
        }
    }

    @Test func `receipts that mark the replaced renewal say the same`() async throws {
        try await with { scene in
            try await scene.answerReceipt([Self.month, Self.replaced, Self.upgrade], onDay: -0.01)
            try await scene.postReceipt([Self.month, Self.replaced, Self.upgrade], by: "anna", onDay: -0.005)
            #expect(try await scene.access(of: "anna") == Self.premium)
        }
    }

    @Test(arguments: [true, false], [true, false])
    func `an upgrade stays when Apple takes back the renewal that it replaced`(withRenewalInfo: Bool, refundFirst: Bool) async throws {
        try await with { scene in
            let refunded = Self.replaced.with {
                $0.transaction.revocation = .refund(at: Sale.day(-0.04))
                if !withRenewalInfo { $0.renewal = nil }
            }
            try await notify(0, scene)
            try await notify(1, scene)
            if refundFirst { try await scene.post(refunded, by: "anna") }
            if withRenewalInfo { try await notify(2, scene) } else { try await scene.post(Self.upgrade, by: "anna") }
            if !refundFirst { try await scene.post(refunded, by: "anna") }
            try await scene.post(Self.month, by: "anna", onDay: -0.01)
            #expect(try await scene.access(of: "anna") == Self.premium)
        }
    }

    @Test func `a renewal after the upgrade is current when the upgrade has ended`() async throws {
        try await with { scene in
            let (renewal, upgrade) = (
                Sale("basic.monthly", "1001", of: "1000", onDay: -60, until: -30).signed(onDay: -60.5),
                Sale("premium.yearly", "1002", of: "1000", onDay: -60.2, until: -30.2)
            )
            try await scene.post(Sale("basic.monthly", "1000", onDay: -90, until: -60), by: "anna")
            try await scene.notify(.didRenew, of: renewal)
            try await scene.notify(.didChangeRenewalPref, .upgrade, of: upgrade)
            try await scene.post(renewal.with { ($0.transaction.isUpgraded, $0.signedDay) = (true, -60.1) }, by: "anna")
            try await scene.notify(.didRenew, of: Sale("premium.yearly", "1003", of: "1000", onDay: -30.2, until: 335))
            #expect(try await scene.access(of: "anna") == ["premium active active 335"])
        }
    }

    @Test(arguments: [true, false])
    func `a change of plan without a subtype that brings a charge is a purchase`(inOrder: Bool) async throws {
        try await with { scene in
            let (first, second) = (try await scene.order("pro.yearly", by: "anna"), try await scene.order("pro.yearly", by: "anna"))
            let year = Sale("pro.yearly", "1000", onDay: -340, until: 25, token: first)
            let downgrade = year.signed(onDay: -40).with {
                $0.renewal?.autoRenewProduct = .subscription("pro.monthly")
            }
            let again = Sale("pro.yearly", "1001", of: "1000", onDay: -2, until: 363, token: second)
            let steps = [
                { try await scene.notify(.subscribed, .initialBuy, of: year) },
                { try await scene.notify(.didChangeRenewalPref, .downgrade, of: downgrade) },
                { try await scene.notify(.didChangeRenewalPref, of: again) },
            ]
            for step in inOrder ? steps : steps.reversed() { _ = try await step() }
            #expect(try await scene.orders() == ["1000 anna paid", "1001 anna paid"])
            #expect(try await scene.effects() == ["granted 1000/51000", "granted 1000/51001", "plan_changed", "plan_changed"])
            #expect(try await scene.access(of: "anna") == ["pro.yearly active active 363"])
        }
    }

    @Test(arguments: [true, false])
    func `a plan that is refunded in part at a downgrade keeps its rest in reports, and the new plan counts`(refundFirst: Bool)
        async throws
    {
        try await with { scene in
            let (first, second) = (try await scene.order("premium.yearly", by: "anna"), try await scene.order("basic.monthly", by: "anna"))
            let year = Sale("premium.yearly", "1000", onDay: -100, until: 265, price: 100_000, token: first)
            try await scene.notify(.subscribed, .initialBuy, of: year)
            let downgrade = Sale("basic.monthly", "1001", of: "1000", onDay: -0.02, until: 30, token: second)
            let refund = year.revoked(onDay: -0.02, as: .refundProrated, percentage: 72_600).with {
                ($0.renewal, $0.status, $0.signedDay) = (downgrade.renewal, .active, -0.01)
            }
            let steps = [
                { try await scene.notify(.refund, of: refund) },
                { try await scene.notify(.didChangeRenewalPref, .downgrade, of: downgrade) },
            ]
            for step in refundFirst ? steps : steps.reversed() { _ = try await step() }
            #expect(try await scene.orders() == ["1000 anna partly_refunded", "1001 anna paid"])
            #expect(try await scene.access(of: "anna") == ["basic active active 30"])
            #expect(try await scene.sold() == ["1000 100.00 27.40", "1001 9.99 9.99"])
            #expect(
                try await scene.effects() == ["granted 1000/51000", "granted 1000/51001", "plan_changed", "refunded 1000/51000/0"]
            )
        }
    }

    @Test(arguments: [true, false], [true, false])
    func `an extension moves access by either date, in either order of arrival`(inTransaction: Bool, inOrder: Bool) async throws {
        try await with { scene in
            let month = Sale("1000", onDay: -28, until: 2)
            let extended = month.with {
                $0.signedDay = -0.1
                if inTransaction { $0.transaction.expiresDate = Sale.day(16) }
                $0.renewal?.renewalDate = Sale.day(16)
            }
            if inOrder { try await scene.post(month, by: "anna") }
            try await scene.notify(.renewalExtended, of: extended)
            if !inOrder { try await scene.post(month, by: "anna") }
            #expect(try await scene.access(of: "anna") == ["pro.monthly active active 16"])
            #expect(try await scene.effects() == ["extended", "granted 1000/51000"])
            let renewed = Sale("1001", of: "1000", onDay: 16, until: 46).signed(onDay: -0.05)
            try await scene.notify(.didRenew, of: renewed)
            #expect(try await scene.access(of: "anna") == ["pro.monthly active active 46"])
        }
    }
}
