import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LedgerTesting
import Postgres
import Testing

/// Which period pays which order.
struct OrderTests {
    let token = UUID()

    @Test(arguments: [true, false])
    func `the order may be made before its purchase or after it`(orderFirst: Bool) async throws {
        try await Books.with { books in
            if orderFirst { try await books.createOrder(token, user: "anna") }
            try await books.merge(Facts.Charge("1000", onDay: 0, token: token))
            if !orderFirst {
                #expect(try await books.orders() == ["1000 - paid token"])
                try await books.createOrder(token, user: "anna")
            }
            #expect(try await books.orders() == ["1000 anna paid token"])
            #expect(try await books.contracts() == ["1000 anna 1000 30"])
        }
    }

    @Test func `a renewal repeats the token and gets an order of its own, whichever comes first`() async throws {
        try await Books.with { books in
            try await books.createOrder(token, user: "anna")
            try await books.merge(Facts.Charge("1001", onDay: 30, token: token))
            #expect(try await books.orders() == ["1001 anna paid token"])
            try await books.merge(Facts.Charge("1000", onDay: 0, token: token))
            #expect(try await books.orders() == ["1000 anna paid token", "1001 anna paid period"])
        }
    }

    @Test(arguments: [[0, 1], [1, 0], nil])
    func `a token that is the number of a paid period names no order`(arrival: [Int]?) async throws {
        try await Books.with { books in
            let first = Facts.Charge("1000", onDay: 0)
            let stolen = OrderNumber.ofPeriod(
                environment: .production,
                originalTransactionID: first.contract,
                webOrderLineItemID: try #require(first.lineItem)
            )
            let charges = [first, Facts.Charge("2000", onDay: 9, token: stolen).with { $0.contract = "2000" }]
            if let arrival {
                for index in arrival { try await books.merge(charges[index]) }
            } else {
                try await books.merge(charges[0], charges[1])
            }
            #expect(try await books.orders() == ["1000 - paid period", "2000 - paid period"])
        }
    }

    @Test func `several charges of one period pay one order, under the smallest number`() async throws {
        try await Books.with { books in
            let second = Facts.Charge("999", onDay: 0, token: token).with { $0.lineItem = "51000" }
            try await books.merge(Facts.Charge("1000", onDay: 0, token: token), second)
            #expect(try await books.orders() == ["999 - paid token"])
        }
    }

    @Test func `a purchase of another product does not pay, and a right one may follow`() async throws {
        try await Books.with { books in
            try await books.createOrder(token, user: "anna")
            try await books.merge(Facts.Charge("1000", onDay: 0, token: token).with { $0.product = "other" })
            #expect(try await books.orders() == ["- anna pending token product_mismatch", "1000 - paid period"])
            #expect(try await books.database.lines("SELECT reason FROM appstore.unmatched") == ["product_mismatch"])
            try await books.merge(Facts.Charge("2000", onDay: 9, token: token).with { $0.contract = "2000" })
            #expect(try await books.orders() == ["1000 - paid period", "2000 anna paid token"])
        }
    }

    @Test func `an order that was named by mistake is pending again when an older fact names another`() async throws {
        try await Books.with { books in
            let other = UUID()
            try await books.createOrder(token, user: "anna")
            let charge = Facts.Charge("1000", onDay: 0, token: token).with { ($0.product, $0.signedDay) = ("other", 2) }
            try await books.merge(charge)
            #expect(try await books.orders().first == "- anna pending token product_mismatch")
            try await books.merge(charge.with { ($0.token, $0.signedDay) = (other, 1) })
            #expect(try await books.orders() == ["- anna pending token", "1000 - paid token"])
        }
    }

    @Test func `an app that is not the order's does not pay`() async throws {
        try await Books.with { books in
            try await books.createOrder(token, user: "anna", bundle: "com.example.other")
            try await books.merge(Facts.Charge("1000", onDay: 0, token: token))
            #expect(try await books.orders().first == "- anna pending token product_mismatch")
        }
    }

    @Test func `a purchase shared by the family pays no order`() async throws {
        try await Books.with { books in
            try await books.merge(Facts.Charge("1000", onDay: 0, token: token).with { $0.ownership = .familyShared })
            #expect(try await books.orders() == [])
            #expect(try await books.contracts() == ["1000 - 1000 30"])
        }
    }

    @Test func `a Sandbox purchase pays a twin and leaves the Production order alone`() async throws {
        try await Books.with { books in
            try await books.createOrder(token, user: "anna")
            try await books.merge(Facts.Charge("1000", onDay: 0, token: token).with { $0.environment = .sandbox })
            #expect(try await books.orders() == ["- anna pending token"])
            #expect(try await books.orders("Sandbox") == ["1000 anna paid token"])
            #expect(try await books.contracts() == [])
            #expect(try await books.contracts("Sandbox") == ["1000 anna 1000 30"])
        }
    }

    @Test func `a Sandbox twin that came first learns its user from the order`() async throws {
        try await Books.with { books in
            try await books.merge(Facts.Charge("1000", onDay: 0, token: token).with { $0.environment = .sandbox })
            try await books.createOrder(token, user: "anna")
            #expect(try await books.orders("Sandbox") == ["1000 anna paid token"])
        }
    }

    @Test func `each consumable pays once, and a token that is used again pays nothing more`() async throws {
        try await Books.with { books in
            try await books.createOrder(token, user: "anna", product: "coins")
            try await books.merge(
                Facts.Charge(product: "coins", "1000", type: .consumable, onDay: 0, token: token),
                Facts.Charge(product: "coins", "1001", type: .consumable, onDay: 1, token: token)
            )
            #expect(try await books.orders() == ["1000 anna paid token", "1001 - paid period"])
            #expect(try await books.contracts() == [])
        }
    }

    @Test func `an upgrade is a charge and a period of its own, though it begins while the old one runs`() async throws {
        try await Books.with { books in
            try await books.createOrder(token, user: "anna")
            let upgrade = Facts.Charge("1001", onDay: 10).with { ($0.product, $0.expiresDay) = ("pro.yearly", 375) }
            try await books.merge(upgrade)
            try await books.merge(Facts.Charge("1000", onDay: 0, token: token))
            #expect(try await books.orders() == ["1000 anna paid token", "1001 anna paid period"])
        }
    }

    @Test func `a charge whose period becomes known later has one order all the same`() async throws {
        try await Books.with { books in
            let charge = Facts.Charge("1000", onDay: 0)
            try await books.merge(charge.with { $0.lineItem = nil })
            #expect(try await books.orders() == ["1000 - paid period"])
            try await books.merge(charge.with { $0.signedDay = 1 })
            #expect(try await books.orders() == ["1000 - paid period"])
            let number = OrderNumber.ofPeriod(environment: .production, originalTransactionID: "1000", webOrderLineItemID: "51000")
            #expect(try await books.database.lines("SELECT order_no::text FROM appstore.orders") == [number.uuidString.lowercased()])
            #expect(try await books.database.lines("SELECT order_no::text FROM appstore.transactions") == [number.uuidString.lowercased()])
        }
    }

    @Test func `a token's order follows when its charge's period becomes known later`() async throws {
        try await Books.with { books in
            try await books.createOrder(token, user: "anna")
            let charge = Facts.Charge("1000", onDay: 0, token: token)
            try await books.merge(charge.with { $0.lineItem = nil })
            try await books.merge(charge.with { $0.signedDay = 1 })
            #expect(try await books.orders() == ["1000 anna paid token"])
            #expect(try await books.database.lines("SELECT web_order_line_item_id FROM appstore.orders") == ["51000"])
        }
    }

    @Test func `refunds show in the order, in part or whole, and a reversal takes them back`() async throws {
        try await Books.with { books in
            let charge = Facts.Charge("1000", onDay: 0, token: token)
            try await books.merge(charge.with { ($0.signedDay, $0.revocationDay, $0.revocationPercentage) = (5, 5, 30_000) })
            #expect(try await books.orders() == ["1000 - partly_refunded token"])
            try await books.merge(charge.with { ($0.signedDay, $0.revocationDay) = (6, 6) })
            #expect(try await books.orders() == ["1000 - refunded token"])
            try await books.merge(charge)
            #expect(try await books.orders() == ["1000 - refunded token"])
            try await books.merge(charge.with { $0.signedDay = 7 })
            #expect(try await books.orders() == ["1000 - paid token"])
        }
    }

    @Test func `an order cannot be made twice for different people`() async throws {
        try await Books.with { books in
            try await books.createOrder(token, user: "anna")
            try await books.createOrder(token, user: "anna")
            await #expect(throws: PostgresError.self) { try await books.createOrder(token, user: "berta") }
            #expect(try await books.orders() == ["- anna pending token"])
        }
    }
}
