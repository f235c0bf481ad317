import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LedgerTesting
import Postgres
import Testing

/// Which charge pays which order.
struct OrderTests {
    let token = UUID()

    @Test(arguments: [true, false])
    func `the order may be created before its purchase or after it`(orderFirst: Bool) async throws {
        try await LedgerFixture.with { ledger in
            if orderFirst { try await ledger.createOrder(token, user: "anna") }
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: token))
            if !orderFirst {
                #expect(try await ledger.orders() == ["1000 - paid token"])
                try await ledger.createOrder(token, user: "anna")
            }
            #expect(try await ledger.orders() == ["1000 anna paid token"])
            #expect(try await ledger.contracts() == ["1000 anna 1000 30"])
        }
    }

    @Test func `a renewal with the same token gets an order of its own, in either order of arrival`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(token, user: "anna")
            try await ledger.merge(Facts.Charge("1001", onDay: 30, token: token))
            #expect(try await ledger.orders() == ["1001 anna paid token"])
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: token))
            #expect(try await ledger.orders() == ["1000 anna paid token", "1001 anna paid period"])
        }
    }

    @Test(arguments: [[0, 1], [1, 0], nil])
    func `a token equal to the number of a paid period names no order`(arrival: [Int]?) async throws {
        try await LedgerFixture.with { ledger in
            let first = Facts.Charge("1000", onDay: 0)
            let stolen = OrderNumber.ofPeriod(
                environment: .production,
                originalTransactionID: first.contract,
                webOrderLineItemID: try #require(first.lineItem)
            )
            let charges = [first, Facts.Charge("2000", onDay: 9, token: stolen).with { $0.contract = "2000" }]
            if let arrival {
                for index in arrival { try await ledger.merge(charges[index]) }
            } else {
                try await ledger.merge(charges[0], charges[1])
            }
            #expect(try await ledger.orders() == ["1000 - paid period", "2000 - paid period"])
        }
    }

    @Test func `several charges of one period pay one order, with the smallest number`() async throws {
        try await LedgerFixture.with { ledger in
            let second = Facts.Charge("999", onDay: 0, token: token).with { $0.lineItem = "51000" }
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: token), second)
            #expect(try await ledger.orders() == ["999 - paid token"])
        }
    }

    @Test func `a purchase of another product does not pay the order, and a matching one may follow`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(token, user: "anna")
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: token).with { $0.product = "other" })
            #expect(try await ledger.orders() == ["- anna pending token product_mismatch", "1000 - paid period"])
            #expect(try await ledger.database.lines("SELECT reason FROM appstore.unmatched") == ["product_mismatch"])
            try await ledger.merge(Facts.Charge("2000", onDay: 9, token: token).with { $0.contract = "2000" })
            #expect(try await ledger.orders() == ["1000 - paid period", "2000 anna paid token"])
        }
    }

    @Test func `an order is pending again when an older fact of its charge names another order`() async throws {
        try await LedgerFixture.with { ledger in
            let other = UUID()
            try await ledger.createOrder(token, user: "anna")
            let charge = Facts.Charge("1000", onDay: 0, token: token).with { ($0.product, $0.signedDay) = ("other", 2) }
            try await ledger.merge(charge)
            #expect(try await ledger.orders().first == "- anna pending token product_mismatch")
            try await ledger.merge(charge.with { ($0.token, $0.signedDay) = (other, 1) })
            #expect(try await ledger.orders() == ["- anna pending token", "1000 anna paid token"], "the later token claims the contract")
        }
    }

    @Test func `a purchase shared by the family pays no order`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: token).with { $0.ownership = .familyShared })
            #expect(try await ledger.orders() == [])
            #expect(try await ledger.contracts() == ["1000 - 1000 30"])
        }
    }

    @Test(arguments: ["pro.monthly", "other"])
    func `a family member's token pays no order and shows no mismatch, even when the ownership is known late`(product: String)
        async throws
    {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(token, user: "anna", product: product)
            let charge = Facts.Charge("1000", onDay: 0, token: token)
            let receipt = charge.receipt(.latestReceiptInfo, onDay: 1) { $0.inAppOwnershipType = nil }
            try await ledger.merge([Facts.receiptEvent(1, receipts: [receipt])])
            #expect(try await ledger.orders().contains("1000 anna paid token") == (product == charge.product))
            try await ledger.merge(charge.with { ($0.ownership, $0.signedDay) = (.familyShared, 2) })
            #expect(try await ledger.orders() == ["- anna pending token"])
        }
    }

    @Test func `a Sandbox purchase pays a Sandbox copy of the order, not the Production order`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(token, user: "anna")
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: token).with { $0.environment = .sandbox })
            #expect(try await ledger.orders() == ["- anna pending token"])
            #expect(try await ledger.orders("Sandbox") == ["1000 anna paid token"])
            #expect(try await ledger.contracts() == [])
            #expect(try await ledger.contracts("Sandbox") == ["1000 anna 1000 30"])
        }
    }

    @Test func `a Sandbox copy that exists first gets its user from the order`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: token).with { $0.environment = .sandbox })
            try await ledger.createOrder(token, user: "anna")
            #expect(try await ledger.orders("Sandbox") == ["1000 anna paid token"])
        }
    }

    @Test func `an upgrade is a charge and a period of its own, although it begins during the old one`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(token, user: "anna")
            let upgrade = Facts.Charge("1001", onDay: 10).with { ($0.product, $0.expiresDay) = ("pro.yearly", 375) }
            try await ledger.merge(upgrade)
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: token))
            #expect(try await ledger.orders() == ["1000 anna paid token", "1001 anna paid period"])
        }
    }

    @Test func `a charge whose period becomes known later has only one order`() async throws {
        try await LedgerFixture.with { ledger in
            let charge = Facts.Charge("1000", onDay: 0)
            try await ledger.merge(charge.with { $0.lineItem = nil })
            #expect(try await ledger.orders() == ["1000 - paid period"])
            try await ledger.merge(charge.with { $0.signedDay = 1 })
            #expect(try await ledger.orders() == ["1000 - paid period"])
            let number = OrderNumber.ofPeriod(environment: .production, originalTransactionID: "1000", webOrderLineItemID: "51000")
            #expect(try await ledger.database.lines("SELECT order_no::text FROM appstore.orders") == [number.uuidString.lowercased()])
            #expect(try await ledger.database.lines("SELECT order_no::text FROM appstore.transactions") == [number.uuidString.lowercased()])
        }
    }

    @Test func `the order shows partial and full refunds, and a reversal clears them`() async throws {
        try await LedgerFixture.with { ledger in
            let charge = Facts.Charge("1000", onDay: 0, token: token)
            try await ledger.merge(charge.with { ($0.signedDay, $0.revocationDay, $0.revocationPercentage) = (5, 5, 30_000) })
            #expect(try await ledger.orders() == ["1000 - partly_refunded token"])
            try await ledger.merge(charge.with { ($0.signedDay, $0.revocationDay) = (6, 6) })
            #expect(try await ledger.orders() == ["1000 - refunded token"])
            try await ledger.merge(charge)
            #expect(try await ledger.orders() == ["1000 - refunded token"])
            try await ledger.merge(charge.with { $0.signedDay = 7 })
            #expect(try await ledger.orders() == ["1000 - paid token"])
        }
    }

    @Test func `an order's number may be a version 5 UUID`() async throws {
        try await LedgerFixture.with { ledger in
            let derived = try #require(UUID(uuidString: "317fbd77-7771-5c18-a332-5c9667f421ef"))
            try await ledger.createOrder(derived, user: "anna")
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: derived))
            #expect(try await ledger.orders() == ["1000 anna paid token"])
        }
    }

    @Test func `an order cannot be created twice for different users`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(token, user: "anna")
            try await ledger.createOrder(token, user: "anna")
            await #expect(throws: PostgresError.self) { try await ledger.createOrder(token, user: "berta") }
            #expect(try await ledger.orders() == ["- anna pending token"])
        }
    }
}
