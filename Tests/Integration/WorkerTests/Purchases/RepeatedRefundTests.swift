import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import Testing

/// Refunds of which Apple states another date later, and refunds after a reversal.
struct RepeatedRefundTests {
    private static let sales = [
        Sale("1000", onDay: -25), Sale("coins", .consumable, "1000", onDay: -25), Sale("lifetime", .nonConsumable, "1000", onDay: -25),
    ]

    /// The subject of the purchase in effects.
    private static func purchase(_ sale: Sale) -> String { sale.renewal == nil ? "1000" : "1000/51000" }

    @Test(arguments: Way.allCases, [true, false])
    func `a refund of which Apple moves the date is one refund, whatever says so`(way: Way, inOrder: Bool) async throws {
        for sale in Self.sales where way != .statusAnswer || sale.renewal != nil {
            try await WorkerScene.with { scene in
                try await scene.run("SELECT appstore.enable_feed()")
                let no = try await scene.order(sale.transaction.product.id, by: "anna")
                let sale = sale.with { $0.transaction.appAccountToken = no }
                try await scene.post(sale, by: "anna")
                let (first, moved) = (sale.refunded(onDay: -20), sale.refunded(onDay: -9, signedDay: -8))
                if inOrder {
                    try await scene.notify(.refund, of: first)
                    try await scene.learn(moved, by: way, as: .refund)
                } else {
                    try await scene.learn(moved, by: way, as: .refund)
                    try await scene.notify(.refund, of: first)
                }
                #expect(try await scene.orders() == ["1000 anna refunded"])
                let effects = try await scene.effects().filter { $0 != "status_found" }
                #expect(effects == ["granted \(Self.purchase(sale))", "refunded \(Self.purchase(sale))/0"])
                #expect(try await scene.told() == ["effect.granted", "effect.refunded", "order.paid", "order.refunded"])
            }
        }
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [0, 2, 1], [1, 2, 0]])
    func `a refund after a reversal is a second one, in any order of arrival`(order: [Int]) async throws {
        for sale in Self.sales {
            try await WorkerScene.with { scene in
                try await scene.post(sale, by: "anna")
                for index in order {
                    switch index {
                    case 0: try await scene.notify(.refund, of: sale.refunded(onDay: -20))
                    case 1: try await scene.notify(.refundReversed, of: sale.signed(onDay: -15))
                    default: try await scene.notify(.refund, of: sale.refunded(onDay: -9))
                    }
                }
                #expect(try await scene.orders() == ["1000 anna refunded"])
                let purchase = Self.purchase(sale)
                #expect(
                    try await scene.effects() == [
                        "granted \(purchase)", "refund_reversed", "refunded \(purchase)/0", "refunded \(purchase)/1",
                    ]
                )
            }
        }
    }

    @Test(arguments: ["another period", "no period", "another contract"], [true, false])
    func `a refund is told once where facts name its purchase differently`(difference: String, isFirst: Bool) async throws {
        let sale = Sale("1000", onDay: -25)
        let other = sale.with {
            switch difference {
            case "another period": $0.transaction.webOrderLineItemID = "59999"
            case "no period": $0.transaction.webOrderLineItemID = nil
            default:
                $0.transaction.originalTransactionID = "900"
                $0.renewal?.originalTransactionID = "900"
            }
        }
        try await WorkerScene.with { scene in
            let (before, after) = isFirst ? (other, sale) : (sale, other)
            try await scene.post(before, by: "anna")
            try await scene.notify(.refund, of: before.refunded(onDay: -20))
            try await scene.notify(.refund, of: after.refunded(onDay: -20, signedDay: -19))
            try await scene.notify(.refund, of: after.refunded(onDay: -18))
            #expect(try await scene.effects().filter { $0.hasPrefix("refunded") }.count == 1)
            try await scene.notify(.refundReversed, of: after.signed(onDay: -15))
            try await scene.notify(.refund, of: after.refunded(onDay: -9))
            #expect(try await scene.effects().filter { $0.hasPrefix("refunded") }.count == 2)
        }
    }

    @Test func `a refund that is reversed gives order and access back, and stays told once`() async throws {
        try await WorkerScene.with { scene in
            try await scene.run("SELECT appstore.enable_feed()")
            let sale = Sale("lifetime", .nonConsumable, "1000", onDay: -25)
            try await scene.post(sale, by: "anna")
            for day in [-20.0, -19] { try await scene.notify(.refund, of: sale.refunded(onDay: day)) }
            try await scene.notify(.refundReversed, of: sale.signed(onDay: -15))
            #expect(try await scene.orders() == ["1000 anna paid"])
            #expect(try await scene.access(of: "anna") == ["lifetime active active for ever"])
            let told = try await scene.told()
            #expect(told.filter { $0 == "effect.refunded" }.count == 1 && told.filter { $0 == "effect.refund_reversed" }.count == 1)
        }
    }

    @Test func `the reversal of an earlier period's refund pays its order again, while the contract goes on`() async throws {
        try await WorkerScene.with { scene in
            let no = try await scene.order("pro.monthly", by: "anna")
            let again = Sale("2000", of: "1000", onDay: -50).with { $0.transaction.appAccountToken = no }
            for sale in [Sale("1000", onDay: -85), again, Sale("3000", of: "1000", onDay: -15)] {
                try await scene.notify(.subscribed, of: sale)
            }
            try await scene.notify(.refund, of: again.refunded(onDay: -10))
            #expect(try await scene.orders() == ["1000 anna paid", "2000 anna refunded", "3000 anna paid"])
            try await scene.notify(.refundReversed, of: again.signed(onDay: -5))
            #expect(try await scene.orders() == ["1000 anna paid", "2000 anna paid", "3000 anna paid"])
        }
    }
}
