import Foundation
import Postgres
import Testing

/// Payments without a user, their reasons and resolutions. Each test carries out the resolution.
struct UnmatchedTests {
    let token = UUID()
    private var mismatched: Charge { Charge("1000", onDay: 0, token: token).with { $0.product = "pro.yearly" } }

    @Test func `a token without an order of the shop is listed until the order is made`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0, token: token), Charge("1001", onDay: 30, token: token))
            #expect(try await ledger.unmatched() == ["order_unknown \(token.uuidString.lowercased()) 1000 - 2"])
            #expect(try await ledger.resolutions() == ["create_order_or_set_user_token"])
            try await ledger.makeOrder(token, user: "anna")
            #expect(try await ledger.unmatched() == [])
        }
    }

    @Test func `a purchase of another product is listed with the order that it names`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(token, user: "anna")
            try await ledger.put(mismatched)
            #expect(try await ledger.unmatched() == ["product_mismatch \(token.uuidString.lowercased()) 1000 anna 1"])
            #expect(
                try await ledger.resolutions() == ["link_owner_or_refund for anna, who ordered pro.monthly"]
            )
            try await ledger.link(to: "anna", onDay: 2)
            #expect(try await ledger.unmatched() == [])
        }
    }

    @Test func `a purchase in another app is listed with its own reason`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(token, user: "anna", bundle: "com.example.other")
            try await ledger.put(Charge("1000", onDay: 0, token: token))
            #expect(try await ledger.unmatched() == ["bundle_mismatch \(token.uuidString.lowercased()) 1000 anna 1"])
        }
    }

    @Test func `a purchase for the wrong order that another account gets is listed until an operator decides`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("999", onDay: -40).with { $0.contract = "1000" })
            try await ledger.link(to: "bert", onDay: -39)
            try await ledger.makeOrder(token, user: "anna")
            try await ledger.put(mismatched)
            #expect(try await ledger.unmatched() == ["product_mismatch \(token.uuidString.lowercased()) 1000 anna 1"])
            #expect(try await ledger.resolutions() == ["link_owner_or_refund for anna, who ordered pro.monthly, of bert"])
            try await ledger.link(to: "bert", onDay: 1)
            #expect(try await ledger.unmatched() == [])
        }
    }

    @Test func `a purchase for the wrong order is not listed once who ordered it is the next owner after a forgotten user`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("999", onDay: -40).with { $0.contract = "1000" })
            try await ledger.link(to: "bert", onDay: -39)
            try await ledger.makeOrder(token, user: "anna")
            try await ledger.put(mismatched)
            let alias = try await ForgetScene.forget("bert", in: ledger)
            #expect(try await ledger.resolutions() == ["link_owner_or_refund for anna, who ordered pro.monthly, of \(alias)"])
            try await ledger.submit("1000", by: "anna", onDay: 5000)
            #expect(try await ledger.lines("SELECT user_id FROM appstore.contracts") == ["anna"])
            #expect(try await ledger.unmatched() == [])
        }
    }

    @Test func `a token whose order is already paid is listed as such`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(token, user: "anna", product: "coins")
            let coins = Charge("coins", "Consumable", "4000", onDay: 0, token: token)
            try await ledger.put(coins, coins.with { ($0.id, $0.contract, $0.purchaseDay) = ("4001", "4001", 1) })
            #expect(try await ledger.unmatched() == ["order_paid_before \(token.uuidString.lowercased()) 4001 anna 1"])
            try await ledger.link("4001", to: "anna", onDay: 2)
            #expect(try await ledger.unmatched() == [])
        }
    }

    @Test func `a purchase without token has no owner until it is posted`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0), Charge("1001", onDay: 30), Charge("1002", onDay: 60))
            #expect(try await ledger.unmatched().map { $0.replacing(/[0-9a-f-]{36}/, with: "NO") } == ["no_user NO 1000 - 3"])
            #expect(try await ledger.resolutions() == ["post_or_link_owner"])
            try await ledger.submit("1002", by: "anna", onDay: 62.9)
            #expect(try await ledger.unmatched() == [])
        }
    }

    @Test func `purchases with one token that is neither an order's nor a user's are listed until it is set`() async throws {
        try await TestLedger.with { ledger in
            let coins = Charge("coins", "Consumable", "4000", onDay: 0, token: token)
            try await ledger.put(coins, coins.with { ($0.id, $0.contract, $0.purchaseDay) = ("4001", "4001", 1) })
            let no = token.uuidString.lowercased()
            #expect(try await ledger.unmatched() == ["order_unknown \(no) 4000 - 1", "order_unknown \(no) 4001 - 1"])
            #expect(try await ledger.resolutions() == ["create_order_or_set_user_token", "set_user_token"])
            try await ledger.run("SELECT appstore.set_user_token(\(token), 'anna')", as: "appstore_operator")
            #expect(try await ledger.unmatched() == [])
        }
    }

    @Test(arguments: [0.1, 30]) func `a post of an unowned purchase settles it at any time`(day: Double) async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0, token: token))
            try await ledger.submit("1000", by: "anna", onDay: day)
            #expect(try await ledger.unmatched() == [])
        }
    }

    @Test func `a post of another user's purchase is listed once for each user as a conflict`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(token, user: "anna")
            try await ledger.put(Charge("1000", onDay: 0, token: token), Charge("1001", onDay: 30, token: token))
            try await ledger.submit("1000", by: "anna", onDay: 0)
            try await ledger.submit("1000", by: "bert", onDay: 31)
            try await ledger.submit("1001", by: "bert", onDay: 32)
            try await ledger.submit("1001", by: "carl", onDay: 33)
            let found = try await ledger.unmatched().map { $0.replacing(/[0-9a-f-]{36}/, with: "NO") }
            #expect(found == ["owner_conflict NO 1000 bert 1", "owner_conflict NO 1001 carl 1"])
            #expect(
                try await ledger.resolutions() == ["link_owner for bert, of anna", "link_owner for carl, of anna"]
            )
            try await ledger.link(to: "anna", onDay: 40)
            #expect(try await ledger.unmatched() == [])
        }
    }

    @Test func `a restore of another user's purchase is listed once until an operator decides`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(token, user: "anna")
            try await ledger.put(Charge("1000", onDay: 0, token: token), Charge("1001", onDay: 30, token: token))
            try await ledger.submitReceipt(by: "anna", onDay: 31)
            #expect(try await ledger.unmatched() == [])
            try await ledger.submitReceipt(by: "bert", onDay: 31)
            try await ledger.submitReceipt(naming: "1000", by: "bert", onDay: 32)
            try await ledger.submitReceipt(naming: "1000", by: "carl", onDay: 33)
            let found = try await ledger.unmatched().map { $0.replacing(/[0-9a-f-]{36}/, with: "NO") }
            #expect(found == ["owner_conflict NO 1000 carl 1", "owner_conflict NO 1001 bert 1"])
            #expect(try await ledger.resolutions() == ["link_owner for carl, of anna", "link_owner for bert, of anna"])
            try await ledger.link(to: "anna", onDay: 40)
            #expect(try await ledger.unmatched() == [])
        }
    }

    @Test func `a post by an earlier or later owner of the contract is not listed`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0))
            try await ledger.submitReceipt(naming: "1000", by: "anna", onDay: 0.5)
            try await ledger.submitReceipt(by: "anna", onDay: 20)
            try await ledger.submitReceipt(by: "bert", onDay: 29)
            #expect(try await ledger.unmatched().count == 1)
            try await ledger.put(Charge("1001", onDay: 40))
            try await ledger.submitReceipt(naming: "1001", by: "bert", onDay: 40.1)
            #expect(try await ledger.unmatched() == [])
            #expect(try await ledger.lines("SELECT user_id FROM appstore.contracts") == ["bert"])
        }
    }

    @Test func `another user's consumable in a receipt is listed only when the post names it`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(token, user: "anna", product: "coins")
            try await ledger.put(Charge("coins", "Consumable", "4000", onDay: 0, token: token))
            try await ledger.submitReceipt(of: "4000", by: "bert", onDay: 1)
            #expect(try await ledger.unmatched() == [])
            try await ledger.submitReceipt(of: "4000", naming: "4000", by: "bert", onDay: 1)
            #expect(try await ledger.unmatched() == ["owner_conflict \(token.uuidString.lowercased()) 4000 bert 1"])
        }
    }

    @Test func `a family member is listed only after a late post`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0).with { $0.isShared = true })
            #expect(try await ledger.unmatched() == [])
            try await ledger.submit("1000", by: "anna", onDay: 9)
            #expect(try await ledger.unmatched() == ["too_late - 1000 anna 1"])
            try await ledger.link(to: "anna", onDay: 10)
            #expect(try await ledger.unmatched() == [])
        }
    }

    @Test func `a full refund removes the payment from the list, a partial one does not`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0).with { ($0.revocationDay, $0.revocationPercentage) = (1, 30_000) })
            #expect(try await ledger.unmatched().count == 1)
            try await ledger.put(Charge("1000", onDay: 0).with { ($0.signedDay, $0.revocationDay) = (2, 2) })
            #expect(try await ledger.unmatched() == [])
        }
    }
}

extension TestLedger {
    /// `reason order charge user periods`.
    fileprivate func unmatched() async throws -> [String] {
        try await lines(
            """
            SELECT concat_ws(' ', reason, coalesce(order_no::text, '-'), transaction_id, coalesce(user_id, '-'), periods)
            FROM appstore.unmatched ORDER BY reason, transaction_id, user_id
            """
        )
    }

    /// `resolution for user, who ordered product, of owner`.
    fileprivate func resolutions() async throws -> [String] {
        try await lines(
            """
            SELECT concat(resolution, ' for ' || user_id, ', who ordered ' || ordered_product_id, ', of ' || owner_user_id)
            FROM appstore.unmatched ORDER BY reason, transaction_id, user_id
            """
        )
    }
}
