import InboxTesting
import Postgres
import PostgresTesting
import SQL
import Testing

/// The steps to versions 2 and 3, in a database of version 1.
struct OrderNumberStepTests {
    @Test func `numbers of periods get another version, tokens and orders of the shop keep theirs, and aliases are known`() async throws {
        let database = try await ReleasedSchema.install(1, withRows: true)
        try await database.run(
            """
            INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
                purchase_date, signed_date, payload_hash, first_signed_date, first_token, app_account_token, period_no, is_subscription, order_no)
            VALUES ('Production', '70', '70', 'b', 'p', 'Auto-Renewable Subscription', now(), now(), '\\x01', now(), NULL, NULL,
                    '317fbd77-7771-5c18-a332-5c9667f421ef', true, '317fbd77-7771-5c18-a332-5c9667f421ef'),
                   ('Production', '71', '71', 'b', 'p', 'Auto-Renewable Subscription', now(), now(), '\\x01', now(),
                    '00000000-0000-4000-8000-000000000071', '00000000-0000-4000-8000-000000000071', '417fbd77-7771-5c18-a332-5c9667f421ef', true,
                    '00000000-0000-4000-8000-000000000071');
            INSERT INTO appstore.orders (environment, order_no, status, period_no, transaction_id, original_transaction_id, paid_at)
            SELECT environment, order_no, 'paid', period_no, transaction_id, original_transaction_id, now() FROM appstore.transactions
            WHERE transaction_id IN ('70', '71');
            INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, transaction_id, order_no)
            SELECT gen_random_uuid(), environment, 'granted', 'x', 1, now(), transaction_id, order_no FROM appstore.transactions
            WHERE transaction_id IN ('70', '71');
            INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
            VALUES ('2026-01-01Z', 'o', 'forget', '{}', '{"alias": "forgotten:a"}'), ('2026-02-01Z', 'o', 'forget', '{}', '{"alias": "forgotten:a"}');
            """
        )
        try await database.migrate()
        let (period, paid, order) = (
            "317fbd77-7771-8c18-a332-5c9667f421ef", "417fbd77-7771-8c18-a332-5c9667f421ef", "00000000-0000-4000-8000-000000000071"
        )
        for table in ["transactions", "orders"] {
            let numbers = try await database.lines(
                """
                SELECT concat_ws(' ', transaction_id, period_no, order_no) FROM appstore.\(identifier: table)
                WHERE transaction_id IN ('70', '71') ORDER BY 1
                """
            )
            #expect(numbers == ["70 \(period) \(period)", "71 \(paid) \(order)"])
        }
        let told = try await database.lines(
            "SELECT transaction_id || ' ' || order_no FROM appstore.effect_log WHERE transaction_id IN ('70', '71') ORDER BY 1"
        )
        #expect(told == ["70 \(period)", "71 \(order)"])
        #expect(
            try await database.lines("SELECT alias || ' ' || (forgotten_at = '2026-01-01Z') FROM appstore.forgotten_users")
                == ["forgotten:a true"]
        )
    }
}
