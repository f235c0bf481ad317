import Foundation
import InboxTesting
import Postgres
import Testing

/// What the shop's backend sees by SQL of what it sold.
struct SoldTests {
    private static let order = UUID()

    private func lines(_ statement: Statement, in ledger: TestLedger) async throws -> [String] {
        try await ledger.database.withConnection(user: "appstore_backend") { connection in
            try await connection.query(statement).map { try $0.decode(0, as: String.self) }
        }
    }

    @Test func `a paid consumable is seen by its order`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(Self.order, user: "anna", product: "coins")
            let status: Statement = """
                SELECT concat_ws('|', status, user_id, product_id, bundle_id, transaction_id) FROM appstore.order_status
                WHERE environment = 'Production' AND order_no = \(Self.order)
                """
            #expect(try await lines(status, in: ledger) == ["pending|anna|coins"])
            try await ledger.put(Charge("coins", "Consumable", "1000", onDay: 0, token: Self.order))
            #expect(try await lines(status, in: ledger) == ["paid|anna|coins|com.example.app|1000"])
            let payments = try await lines("SELECT product_id || ' ' || status FROM appstore.payments WHERE user_id = 'anna'", in: ledger)
            #expect(payments == ["coins paid"])
        }
    }

    @Test func `the orders of a user are those of the shop and those of renewals`() async throws {
        try await TestLedger.with { ledger in
            let (pending, foreign) = (UUID(), UUID())
            try await ledger.makeOrder(Self.order, user: "anna")
            try await ledger.makeOrder(pending, user: "anna", product: "coins")
            try await ledger.makeOrder(foreign, user: "bob")
            try await ledger.put(
                Charge("1000", onDay: 0, token: Self.order),
                Charge("1001", onDay: 30),
                Charge("2000", onDay: 0, token: foreign).with { $0.contract = "2000" }
            )
            let orders = try await lines(
                """
                SELECT concat_ws('|', status, product_id, transaction_id, CASE WHEN ordered_at IS NULL THEN 'renewal' END)
                FROM appstore.user_orders WHERE environment = 'Production' AND user_id = 'anna' ORDER BY 1
                """,
                in: ledger
            )
            #expect(orders == ["paid|pro.monthly|1000", "paid|pro.monthly|1001|renewal", "pending|coins"])
        }
    }

    @Test func `a refund that came before its purchase has the order of the purchase`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(Self.order, user: "anna")
            // The refund's statement has no token yet: the charge has an order of its own.
            try await ledger.put(Charge("1000", onDay: 0).with { ($0.signedDay, $0.revocationDay) = (2, 2) })
            try await ledger.run(
                """
                INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, original_transaction_id,
                                                 transaction_id, order_no)
                SELECT gen_random_uuid(), 'Production', 'refunded', '1000', 1, now(), '1000', '1000', t.order_no
                FROM appstore.transactions AS t
                """
            )
            let number: Statement = "SELECT order_no::text FROM appstore.effects WHERE kind = 'refunded'"
            let before = try await lines(number, in: ledger)
            try await ledger.run(
                """
                UPDATE appstore.transactions SET first_token = \(Self.order), app_account_token = \(Self.order), token_changed = true
                WHERE transaction_id = '1000'
                """
            )
            try await ledger.run("SELECT appstore.derive_ledger('Production', ARRAY['1000'], '{}')")
            let after = try await lines(number, in: ledger)
            #expect(before != after && after == [Self.order.uuidString.lowercased()])
            #expect(try await ledger.lines("SELECT order_no::text FROM appstore.effect_log") == before)
            let timeline = try await ledger.lines(
                "SELECT order_no::text FROM appstore.timeline('Production', '1000') WHERE what = 'refunded'"
            )
            #expect(timeline == after)
        }
    }
}
