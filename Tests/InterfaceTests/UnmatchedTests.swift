import Foundation
import InboxTesting
import Postgres
import Testing

/// What is paid and has no user: why, and what resolves it. Each case ends with doing so.
struct UnmatchedTests {
    let token = UUID()
    private var mismatched: Charge { Charge("1000", onDay: 0, token: token).with { $0.product = "pro.yearly" } }

    @Test func `a token that no order of the shop's bears waits for the order`() async throws {
        try await Books.with { books in
            try await books.put(Charge("1000", onDay: 0, token: token), Charge("1001", onDay: 30, token: token))
            #expect(try await books.unmatched() == ["order_unknown \(token.uuidString.lowercased()) 1000 - 2"])
            #expect(try await books.resolutions() == ["create_order"])
            try await books.makeOrder(token, user: "anna")
            #expect(try await books.unmatched() == [])
        }
    }

    @Test func `a purchase of another product is listed with the order that it names`() async throws {
        try await Books.with { books in
            try await books.makeOrder(token, user: "anna")
            try await books.put(mismatched)
            #expect(try await books.unmatched() == ["product_mismatch \(token.uuidString.lowercased()) 1000 anna 1"])
            #expect(
                try await books.resolutions() == ["link_owner_or_refund for anna, who ordered pro.monthly"]
            )
            try await books.link(to: "anna", onDay: 2)
            #expect(try await books.unmatched() == [])
        }
    }

    @Test func `another app is told apart from another product`() async throws {
        try await Books.with { books in
            try await books.makeOrder(token, user: "anna", bundle: "com.example.other")
            try await books.put(Charge("1000", onDay: 0, token: token))
            #expect(try await books.unmatched() == ["bundle_mismatch \(token.uuidString.lowercased()) 1000 anna 1"])
        }
    }

    @Test func `a purchase for the wrong order that another account gets is listed until somebody decides`() async throws {
        try await Books.with { books in
            try await books.put(Charge("999", onDay: -40).with { $0.contract = "1000" })
            try await books.link(to: "bert", onDay: -39)
            try await books.makeOrder(token, user: "anna")
            try await books.put(mismatched)
            #expect(try await books.unmatched() == ["product_mismatch \(token.uuidString.lowercased()) 1000 anna 1"])
            #expect(try await books.resolutions() == ["link_owner_or_refund for anna, who ordered pro.monthly, of bert"])
            try await books.link(to: "bert", onDay: 1)
            #expect(try await books.unmatched() == [])
        }
    }

    @Test func `a token that has paid already is listed as such`() async throws {
        try await Books.with { books in
            try await books.makeOrder(token, user: "anna", product: "coins")
            let coins = Charge("coins", "Consumable", "4000", onDay: 0, token: token)
            try await books.put(coins, coins.with { ($0.id, $0.contract, $0.purchaseDay) = ("4001", "4001", 1) })
            #expect(try await books.unmatched() == ["order_paid_before \(token.uuidString.lowercased()) 4001 anna 1"])
            try await books.link("4001", to: "anna", onDay: 2)
            #expect(try await books.unmatched() == [])
        }
    }

    @Test func `a purchase without token is nobody's until it is posted in time`() async throws {
        try await Books.with { books in
            try await books.put(Charge("1000", onDay: 0), Charge("1001", onDay: 30), Charge("1002", onDay: 60))
            #expect(try await books.unmatched().map { $0.replacing(/[0-9a-f-]{36}/, with: "NO") } == ["no_user NO 1000 - 3"])
            try await books.submit("1002", by: "anna", onDay: 62.9)
            #expect(try await books.unmatched() == [])
        }
    }

    @Test func `a post that came too late says who it was`() async throws {
        try await Books.with { books in
            try await books.put(Charge("1000", onDay: 0))
            try await books.submit("1000", by: "anna", onDay: 3.1)
            #expect(try await books.unmatched().map { $0.replacing(/[0-9a-f-]{36}/, with: "NO") } == ["too_late NO 1000 anna 1"])
            #expect(try await books.resolutions() == ["link_owner_or_refund for anna"])
            try await books.link(to: "anna", onDay: 5)
            #expect(try await books.unmatched() == [])
        }
    }

    @Test func `what somebody else's account shows is a conflict for whoever posts it, once`() async throws {
        try await Books.with { books in
            try await books.makeOrder(token, user: "anna")
            try await books.put(Charge("1000", onDay: 0, token: token), Charge("1001", onDay: 30, token: token))
            try await books.submit("1000", by: "anna", onDay: 0)
            try await books.submit("1000", by: "bert", onDay: 31)
            try await books.submit("1001", by: "bert", onDay: 32)
            try await books.submit("1001", by: "carl", onDay: 33)
            let found = try await books.unmatched().map { $0.replacing(/[0-9a-f-]{36}/, with: "NO") }
            #expect(found == ["owner_conflict NO 1000 bert 1", "owner_conflict NO 1001 carl 1"])
            #expect(
                try await books.resolutions() == ["link_owner for bert, of anna", "link_owner for carl, of anna"]
            )
            try await books.link(to: "anna", onDay: 40)
            #expect(try await books.unmatched() == [])
        }
    }

    @Test func `who restores what is somebody else's is listed, once, until somebody decides`() async throws {
        try await Books.with { books in
            try await books.makeOrder(token, user: "anna")
            try await books.put(Charge("1000", onDay: 0, token: token), Charge("1001", onDay: 30, token: token))
            try await books.submitReceipt(by: "anna", onDay: 31)
            #expect(try await books.unmatched() == [])
            try await books.submitReceipt(by: "bert", onDay: 31)
            try await books.submitReceipt(naming: "1000", by: "bert", onDay: 32)
            try await books.submitReceipt(naming: "1000", by: "carl", onDay: 33)
            let found = try await books.unmatched().map { $0.replacing(/[0-9a-f-]{36}/, with: "NO") }
            #expect(found == ["owner_conflict NO 1000 carl 1", "owner_conflict NO 1001 bert 1"])
            #expect(try await books.resolutions() == ["link_owner for carl, of anna", "link_owner for bert, of anna"])
            try await books.link(to: "anna", onDay: 40)
            #expect(try await books.unmatched() == [])
        }
    }

    @Test func `who had a contract before it was another's, or has it since, was not refused it`() async throws {
        try await Books.with { books in
            try await books.put(Charge("1000", onDay: 0))
            try await books.submitReceipt(naming: "1000", by: "anna", onDay: 0.5)
            try await books.submitReceipt(by: "anna", onDay: 20)
            try await books.submitReceipt(by: "bert", onDay: 29)
            #expect(try await books.unmatched().count == 1)
            try await books.put(Charge("1001", onDay: 40))
            try await books.submitReceipt(naming: "1001", by: "bert", onDay: 40.1)
            #expect(try await books.unmatched() == [])
            #expect(try await books.lines("SELECT user_id FROM appstore.contracts") == ["bert"])
        }
    }

    @Test func `a consumable in somebody else's receipt is no refusal, unless it is named`() async throws {
        try await Books.with { books in
            try await books.makeOrder(token, user: "anna", product: "coins")
            try await books.put(Charge("coins", "Consumable", "4000", onDay: 0, token: token))
            try await books.submitReceipt(of: "4000", by: "bert", onDay: 1)
            #expect(try await books.unmatched() == [])
            try await books.submitReceipt(of: "4000", naming: "4000", by: "bert", onDay: 1)
            #expect(try await books.unmatched() == ["owner_conflict \(token.uuidString.lowercased()) 4000 bert 1"])
        }
    }

    @Test func `family members are listed when they were refused, and not before`() async throws {
        try await Books.with { books in
            try await books.put(Charge("1000", onDay: 0).with { $0.isShared = true })
            #expect(try await books.unmatched() == [])
            try await books.submit("1000", by: "anna", onDay: 9)
            #expect(try await books.unmatched() == ["too_late - 1000 anna 1"])
            try await books.link(to: "anna", onDay: 10)
            #expect(try await books.unmatched() == [])
        }
    }

    @Test func `what was paid back is no longer missing, and what is paid back in part still is`() async throws {
        try await Books.with { books in
            try await books.put(Charge("1000", onDay: 0).with { ($0.revocationDay, $0.revocationPercentage) = (1, 30_000) })
            #expect(try await books.unmatched().count == 1)
            try await books.put(Charge("1000", onDay: 0).with { ($0.signedDay, $0.revocationDay) = (2, 2) })
            #expect(try await books.unmatched() == [])
        }
    }

    @Test func `what is nobody's is found without reading everybody's orders`() async throws {
        try await Books.with { books in
            try await books.run(
                """
                INSERT INTO appstore.orders (environment, order_no, user_id, status, period_no, transaction_id, original_transaction_id, paid_product_id, paid_at)
                SELECT 'Production', no, 'user-' || n, 'paid', no, n::text, n::text, 'pro.monthly', now()
                FROM (SELECT n, gen_random_uuid() AS no FROM generate_series(100001, 130000) AS n) AS numbered
                """
            )
            try await books.put(Charge("1000", onDay: 0))
            try await books.run("ANALYZE")
            let plan = try await books.lines("EXPLAIN SELECT * FROM appstore.unmatched").joined(separator: "\n")
            #expect(!plan.contains("Seq Scan on orders"), "\(plan)")
            #expect(try await books.unmatched().count == 1)
        }
    }
}

extension Books {
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
