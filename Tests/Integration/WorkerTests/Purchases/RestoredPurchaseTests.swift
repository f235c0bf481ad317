import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import Testing

/// A purchase of which Apple makes further transactions: when a device restores it, or for one period.
struct RestoredPurchaseTests {
    private static let bought = Sale("lifetime", .nonConsumable, "1000", onDay: -200)
    private static let second = bought.copy("2000", onDay: -100)
    private static let third = bought.copy("3000", onDay: -1)

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
    func `a product that its user restores on two devices is one order, one grant and one price`(order: [Int]) async throws {
        try await WorkerScene.with { scene in
            try await scene.run("SELECT appstore.enable_feed()")
            let bought = Self.bought.with { $0.transaction.appAccountToken = nil }
            let token = try await scene.order("lifetime", by: "anna")
            for index in order {
                switch index {
                case 0: try await scene.notify(.oneTimeCharge, of: bought.with { $0.transaction.appAccountToken = token })
                case 1: try await scene.post(Self.second.with { $0.transaction.appAccountToken = token }, by: "anna")
                default: try await scene.post(Self.third, by: "anna")
                }
            }
            #expect(try await scene.orders() == ["1000 anna paid"])
            #expect(try await scene.effects() == ["granted 1000"])
            #expect(try await scene.sold() == ["1000 49.99 49.99"])
            #expect(try await scene.access(of: "anna") == ["lifetime active active for ever"])
            #expect(try await scene.told() == ["effect.granted", "order.paid"])
            #expect(try await scene.database.lines("SELECT order_no::text FROM appstore.orders") == [token.uuidString.lowercased()])
        }
    }

    @Test(arguments: [Way.postedReceipt, .receiptAnswer, .transactionAnswer], [true, false])
    func `copies by receipts and by Apple's answers are the same purchase`(way: Way, originalFirst: Bool) async throws {
        try await WorkerScene.with { scene in
            let sales = [Self.bought.signed(onDay: -3), Self.second.signed(onDay: -2), Self.third]
            for sale in originalFirst ? sales : sales.reversed() { try await scene.learn(sale, by: way, as: .oneTimeCharge) }
            #expect(try await scene.orders().map { $0.split(separator: " ").first } == ["1000"])
            #expect(try await scene.effects() == ["granted 1000"])
            #expect(try await scene.sold().count == 1)
        }
    }

    /// An app names what it restored as just bought. The purchase itself is not known.
    @Test func `a copy claims the product from the post on, and not from a purchase`() async throws {
        try await WorkerScene.with { scene in
            let bought = Sale("lifetime", .nonConsumable, "1000", onDay: -2)
            try await scene.postReceipt([bought.copy("2000", onDay: -1)], by: "berta", naming: "2000", onDay: -0.5)
            let claims = try await scene.database.lines("SELECT concat_ws(' ', kind, user_id) FROM appstore.ownership_claims")
            #expect(claims == ["restored berta"])
        }
    }

    @Test(arguments: [ProductType.nonConsumable, .nonRenewingSubscription, ProductType(rawValue: "Seat"), .consumable])
    func `only of consumables each transaction is a purchase`(type: ProductType) async throws {
        try await WorkerScene.with { scene in
            let bought = Sale("thing", type, "1000", onDay: -20)
            try await scene.post(bought, by: "anna")
            try await scene.post(bought.copy("2000", onDay: -10), by: "anna")
            let isConsumed = type == .consumable
            #expect(try await scene.orders() == (isConsumed ? ["1000 anna paid", "2000 anna paid"] : ["1000 anna paid"]))
            #expect(try await scene.effects() == (isConsumed ? ["granted 1000", "granted 2000"] : ["granted 1000"]))
            #expect(try await scene.sold().count == (isConsumed ? 2 : 1))
        }
    }

    @Test(arguments: [[0, 1], [1, 0]])
    func `a second transaction of a period is neither a charge nor a second order`(order: [Int]) async throws {
        try await WorkerScene.with { scene in
            try await scene.run("SELECT appstore.enable_feed()")
            let period = Sale("1001", of: "1000", onDay: -5)
            let copy = period.copy("1500", onDay: -5).signed(onDay: -4)
            for index in order { try await scene.notify(.didRenew, of: [period, copy][index]) }
            #expect(try await scene.orders() == ["1001 - paid"])
            #expect(try await scene.effects() == ["granted 1000/51001"])
            #expect(try await scene.sold() == ["1001 9.99 9.99"])
            #expect(try await scene.told() == ["effect.granted"])
        }
    }

    @Test(arguments: [[0, 1], [1, 0]])
    func `a second transaction of a renewal is not counted twice in reports`(order: [Int]) async throws {
        try await WorkerScene.with { scene in
            let period = Sale("1001", of: "1000", onDay: -5).with { $0.transaction.reason = .renewal }
            let copy = period.copy("1500", onDay: -5).signed(onDay: -4)
            for index in order { try await scene.notify(.didRenew, of: [period, copy][index]) }
            #expect(try await scene.orders() == ["1001 - paid"])
            #expect(try await scene.sold() == ["1001 9.99 9.99"])
            try await scene.notify(.refund, of: copy.refunded(onDay: -2))
            #expect(try await scene.sold() == ["1001 9.99 0.00"])
        }
    }

    @Test(arguments: [true, false], [Way.notification, .post, .transactionAnswer, .postedReceipt, .receiptAnswer])
    func `the refund of either transaction is that of the purchase`(isOfCopy: Bool, way: Way) async throws {
        try await WorkerScene.with { scene in
            let token = try await scene.order("lifetime", by: "anna")
            try await scene.notify(.oneTimeCharge, of: Self.bought.with { $0.transaction.appAccountToken = token })
            try await scene.post(Self.second, by: "anna")
            let refunded = (isOfCopy ? Self.second : Self.bought).refunded(onDay: -5)
            try await scene.learn(refunded, by: way, as: .refund)
            #expect(try await scene.orders() == ["1000 anna refunded"])
            #expect(try await scene.effects() == ["granted 1000", "refunded 1000/0"])
            #expect(try await scene.access(of: "anna") == ["lifetime ended refunded -5"])
        }
    }

    @Test func `the refund of both transactions is one refund`() async throws {
        try await WorkerScene.with { scene in
            try await scene.run("SELECT appstore.enable_feed()")
            for sale in [Self.bought, Self.second] { try await scene.post(sale, by: "anna") }
            for sale in [Self.bought, Self.second] { try await scene.notify(.refund, of: sale.refunded(onDay: -5)) }
            #expect(try await scene.orders() == ["1000 anna refunded"])
            #expect(try await scene.told() == ["effect.granted", "effect.refunded"])
            #expect(try await scene.sold() == ["1000 49.99 0.00"])
        }
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
    func `a reversal that names a copy takes back the refund of the purchase, and the next refund is another one`(order: [Int])
        async throws
    {
        try await WorkerScene.with { scene in
            for sale in [Self.bought, Self.second] { try await scene.post(sale, by: "anna") }
            for index in order {
                switch index {
                case 0: try await scene.notify(.refund, of: Self.bought.refunded(onDay: -50))
                case 1: try await scene.notify(.refundReversed, of: Self.second.signed(onDay: -40))
                default: try await scene.notify(.refund, of: Self.second.refunded(onDay: -30))
                }
            }
            #expect(try await scene.effects() == ["granted 1000", "refund_reversed", "refunded 1000/0", "refunded 1000/1"])
            #expect(try await scene.access(of: "anna") == ["lifetime ended refunded -30"])
            try await scene.notify(.refundReversed, of: Self.bought.signed(onDay: -20))
            #expect(try await scene.orders() == ["1000 anna paid"])
            #expect(try await scene.access(of: "anna") == ["lifetime active active for ever"])
        }
    }

    @Test(arguments: [true, false])
    func `another user who restores the purchase does not get it, even if that copy comes first`(copyFirst: Bool) async throws {
        try await WorkerScene.with { scene in
            let token = try await scene.order("lifetime", by: "anna")
            let bought = Self.bought.with { $0.transaction.appAccountToken = token }
            if copyFirst {
                #expect(try await scene.post(Self.third, by: "berta") == "applied")
                try await scene.notify(.oneTimeCharge, of: bought)
            } else {
                try await scene.notify(.oneTimeCharge, of: bought)
                #expect(try await scene.post(Self.third, by: "berta") == "applied owner_conflict")
            }
            let receipt = try await scene.postReceipt([bought, Self.third], by: "berta", naming: "3000", onDay: -0.5)
            #expect(receipt.hasSuffix("owner_conflict"))
            #expect(try await scene.orders() == ["1000 anna paid"])
            #expect(try await scene.access(of: "anna") == ["lifetime active active for ever"])
            #expect(try await scene.access(of: "berta") == [])
        }
    }

    @Test func `a copy with another user's token moves nothing`() async throws {
        try await WorkerScene.with { scene in
            let (annas, bertas) = (try await scene.order("lifetime", by: "anna"), try await scene.order("lifetime", by: "berta"))
            try await scene.notify(.oneTimeCharge, of: Self.bought.with { $0.transaction.appAccountToken = annas })
            try await scene.notify(.oneTimeCharge, of: Self.second.with { $0.transaction.appAccountToken = bertas })
            #expect(try await scene.orders() == ["- berta pending", "1000 anna paid"])
            #expect(try await scene.access(of: "berta") == [])
        }
    }

    @Test func `a product that is restored belongs to the user who posted it first, although the copy is fresh`() async throws {
        try await WorkerScene.with { scene in
            try await scene.post(Self.bought, by: "anna", onDay: -150)
            #expect(try await scene.post(Self.third, by: "berta") == "applied owner_conflict")
            #expect(try await scene.orders() == ["1000 anna paid"])
        }
    }

    @Test(arguments: [[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    func `a product that is bought again after its refund is a purchase of its own`(order: [Int]) async throws {
        try await WorkerScene.with { scene in
            let first = Sale("lifetime", .nonConsumable, "1000", onDay: -30, token: try await scene.order("lifetime", by: "anna"))
            let again = Sale("lifetime", .nonConsumable, "2000", onDay: -20, token: try await scene.order("lifetime", by: "anna"))
            for index in order {
                switch index {
                case 0: try await scene.notify(.oneTimeCharge, of: first)
                case 1: try await scene.notify(.refund, of: first.refunded(onDay: -25))
                default: try await scene.notify(.oneTimeCharge, of: again)
                }
            }
            #expect(try await scene.orders() == ["1000 anna refunded", "2000 anna paid"])
            #expect(
                try await scene.access(of: "anna") == ["lifetime active active for ever", "lifetime ended refunded -25"]
            )
            #expect(try await scene.sold() == ["1000 49.99 0.00", "2000 49.99 49.99"])
        }
    }
}
