import Postgres

/// The ledger's rows of the events that ``Filler`` settles, derived from the event ids.
///
/// Each dozen of events is about one contract: every second event is a charge, the others are about its renewal. Every second contract
/// began with an order of the shop.
enum SettledLedger {
    /// The tables that grow with settled events, without the inbox.
    static let tables = [
        "outcomes", "seen_notifications", "transactions", "token_orders", "contracts", "ownership_claims", "effect_log",
    ]
    .map { "appstore.\($0)" }

    /// Creates the view of charges that ``insertions(after:)`` reads, from a table with the ids of events and when they were received.
    static func view(of events: String = "appstore.inbox") -> String {
        """
        CREATE OR REPLACE TEMPORARY VIEW charge AS
        SELECT e.event_id, e.event_id % 12 = 0 AS is_first, (100000000000000 + e.event_id)::text AS id,
               (100000000000000 + e.event_id / 12 * 12)::text AS contract, (100000000000010 + e.event_id / 12 * 12)::text AS last,
               e.received_at + (e.event_id % 12 - 10) * interval '15 days' AS paid_at, e.received_at + interval '30 days' AS paid_until,
               md5('period ' || e.event_id)::uuid AS period, token.no AS token,
               CASE WHEN e.event_id % 12 = 0 THEN coalesce(token.no, md5('period ' || e.event_id)::uuid)
                    ELSE md5('period ' || e.event_id)::uuid END AS order_no,
               CASE WHEN token.no IS NOT NULL THEN 'user ' || e.event_id / 12 END AS user_id
        FROM \(events) AS e
        CROSS JOIN LATERAL (SELECT CASE e.event_id / 12 % 2 WHEN 0 THEN md5('token ' || e.event_id / 12)::uuid END AS no) AS token
        WHERE e.event_id % 2 = 0
        """
    }

    /// Statements that insert the ledger's rows of the events after an id.
    static func insertions(after event: Int64) -> [Statement] {
        [
            """
            INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, web_order_line_item_id, bundle_id,
                product_id, product_type, subscription_group_identifier, purchase_date, original_purchase_date, expires_date, quantity,
                app_account_token, in_app_ownership_type, storefront, storefront_id, transaction_reason, currency, price,
                app_transaction_id, signed_date, payload_hash, first_signed_date, first_token, period_no, is_subscription, order_no)
            SELECT 'Production', c.id, c.contract, c.id, 'com.example.bench', 'pro.monthly', 'Auto-Renewable Subscription', '21000000',
                   c.paid_at, c.paid_at, c.paid_at + interval '30 days', 1, c.token, 'PURCHASED', 'DEU', '143443',
                   CASE WHEN c.is_first THEN 'PURCHASE' ELSE 'RENEWAL' END, 'EUR', 9990, c.contract, c.paid_at,
                   sha256(convert_to(c.id, 'UTF8')), c.paid_at, c.token, c.period, true, c.order_no
            FROM charge AS c WHERE c.event_id > \(event)
            """,
            """
            INSERT INTO appstore.token_orders (environment, order_no, user_id, product_id, bundle_id, ordered_at, status, period_no,
                transaction_id, original_transaction_id, web_order_line_item_id, paid_product_id, paid_at, quantity, price, currency)
            SELECT 'Production', c.order_no, c.user_id, 'pro.monthly', 'com.example.bench', c.paid_at, 'paid', c.period, c.id, c.contract, c.id,
                   'pro.monthly', c.paid_at, 1, 9990, 'EUR'
            FROM charge AS c WHERE c.order_no = c.token AND c.event_id > \(event)
            """,
            """
            INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, original_transaction_id,
                transaction_id, product_id, order_no, user_id)
            SELECT md5('effect ' || c.event_id)::uuid, 'Production', 'granted', c.id, c.event_id, c.paid_at, c.contract, c.id, 'pro.monthly', c.order_no, c.user_id
            FROM charge AS c WHERE c.event_id > \(event)
            """,
            """
            INSERT INTO appstore.contracts (environment, original_transaction_id, user_id, bundle_id, product_id, product_type, status,
                will_renew, started_at, current_transaction_id, current_period_start, current_period_end, access_until, owner_since,
                renewal_status, renewal_product_id, auto_renew_product_id, auto_renew_status, renewal_date, renewal_price, renewal_currency,
                renewal_app_account_token, renewal_signed_date, renewal_hash)
            SELECT 'Production', c.contract, c.user_id, 'com.example.bench', 'pro.monthly', 'Auto-Renewable Subscription', 1, true,
                   c.paid_at, c.last, c.paid_until - interval '30 days', c.paid_until, c.paid_until,
                   CASE WHEN c.token IS NOT NULL THEN c.paid_at END, 1, 'pro.monthly', 'pro.monthly', 1, c.paid_until, 9990, 'EUR', c.token,
                   c.paid_at, sha256(convert_to(c.contract, 'UTF8'))
            FROM charge AS c WHERE c.is_first AND c.event_id > \(event)
            """,
            """
            INSERT INTO appstore.ownership_claims (environment, original_transaction_id, kind, source_id, user_id, effective_at)
            SELECT 'Production', c.contract, 'order', c.token, c.user_id, c.paid_at
            FROM charge AS c WHERE c.is_first AND c.token IS NOT NULL AND c.event_id > \(event)
            """,
        ]
    }
}
