package import Postgres

/// Reads from the database the ledger lines that the reference model computes.
package enum LedgerReader {
    /// All lines, sorted.
    package static func lines(_ connection: Connection) async throws -> [String] {
        var lines: [String] = []
        for statement in statements {
            for row in try await connection.query(Statement(stringLiteral: statement)) {
                lines.append(try row.decode(0, as: String.self))
            }
        }
        return lines.sorted()
    }

    /// Each owner's access at an instant, in milliseconds since 1970; the format is that of ``ReferenceModel/accessLines(at:days:)``.
    package static func accessLines(_ connection: Connection, at instant: Int64) async throws -> [String] {
        let rows = try await connection.query(
            """
            SELECT concat_ws(' | ', 'access ' || environment || ' ' || original_transaction_id || ' ' || entitlement, 'user_id=' || user_id,
                             'product_id=' || product_id, 'active=' || active)
            FROM appstore.entitlements_at(\(PostgresTimestamp(millisecondsSince1970: instant)))
            """
        )
        return try rows.map { try $0.decode(0, as: String.self) }.sorted()
    }

    private static let statements = [
        select(
            "transaction",
            "transaction_id",
            (LedgerColumns.transactions + LedgerColumns.transactionStates).map(field) + [
                text("product_type"), text("in_app_ownership_type"), text("subscription_group_identifier"), text("app_account_token"),
                text("is_subscription"),
            ] + LedgerColumns.receiptHalf.map(field) + [
                milliseconds("signed_date"), hexadecimal("payload_hash"), milliseconds("receipt_date"), hexadecimal("receipt_hash"),
                milliseconds("first_signed_date"), text("first_token"), text("period_no"), text("order_no"),
            ],
            from: "transactions"
        ),
        select(
            "subscription",
            "original_transaction_id",
            LedgerColumns.subscriptions.map(field) + [text("status"), milliseconds("signed_date"), hexadecimal("fact_hash")],
            from: renewals
        ),
        select(
            "order",
            "order_no",
            [
                text("user_id"), text("product_id"), text("bundle_id"), text("reason"), text("status"), text("period_no"),
                text("transaction_id"), text("original_transaction_id"), text("web_order_line_item_id"), text("paid_product_id"),
                milliseconds("paid_at"),
                text("quantity"), text("price"), text("currency"),
            ],
            from: "orders"
        ),
        select(
            "claim",
            "original_transaction_id || ' ' || kind || ':' || source_id",
            [text("user_id"), "'effective_at=' || (extract(epoch FROM effective_at) * 1000000)::bigint"],
            from: "ownership_claims"
        ),
        contracts,
        select(
            "submission",
            "transaction_id || ' ' || user_id",
            ["'contract=' || original_transaction_id", milliseconds("received_at"), text("event_id")],
            from: "(SELECT * FROM appstore.client_posts WHERE NOT is_receipt)"
        ),
        select(
            "legacy_renewal",
            "original_transaction_id || ' ' || bundle_id",
            [
                text("provenance"), text("product_id"), text("auto_renew_product_id"), text("auto_renew_status"),
                text("is_in_billing_retry_period"), text("expiration_intent"), milliseconds("grace_period_expires_date"),
                text("price_increase_status"), text("promotional_offer_id"), text("offer_code_ref_name"), milliseconds("stated_at"),
                hexadecimal("fact_hash"),
            ],
            from: "v1_renewals"
        ),
        select(
            "receipt_submission",
            "original_transaction_id || ' ' || user_id || ' ' || coalesce(transaction_id, '')",
            [milliseconds("received_at"), text("event_id")],
            from: "(SELECT * FROM appstore.client_posts WHERE is_receipt)"
        ),
        // Whether a status was found first depends on the order by its nature: see ``ReferenceModel/found``.
        "SELECT 'effect ' || environment || ' ' || kind || ' ' || subject FROM appstore.effect_log WHERE kind <> 'status_found'",
        select(
            "refund",
            "notification_uuid::text",
            [
                text("kind"), text("transaction_id"), "'contract=' || original_transaction_id", text("reason"),
                milliseconds("signed_date"),
            ],
            from: "refund_requests"
        ),
        select(
            "consumption",
            "transaction_id",
            [milliseconds("asked_at"), text("outcome"), milliseconds("outcome_at")],
            from: "consumption_requests"
        ),
        select("event_contract", "original_transaction_id || ' ' || event_id", [], from: "event_contracts"),
        select(
            "external_purchase_token",
            "external_purchase_id",
            [
                text("bundle_id"), text("app_apple_id"), text("token_type"), milliseconds("token_creation_date"),
                milliseconds("token_expiration_date"), text("subtype"), milliseconds("signed_date"), hexadecimal("payload_hash"),
                milliseconds("first_signed_date"),
            ],
            from: "external_purchase_tokens"
        ),
        select(
            "app_transaction",
            "app_transaction_id",
            [
                text("bundle_id"), text("original_application_version"), text("application_version"),
                milliseconds("original_purchase_date"),
                text("original_platform"), milliseconds("preorder_date"), text("store_type"), milliseconds("revocation_date"),
                milliseconds("signed_date"), hexadecimal("payload_hash"), text("user_id"), milliseconds("posted_at"), text("post_event_id"),
            ],
            from: "app_transactions"
        ),
    ]

    /// The registers of renewals, with Apple's member names.
    private static let renewals = """
        (SELECT c.environment, c.original_transaction_id, c.renewal_status AS status, c.renewal_product_id AS product_id,
                c.auto_renew_product_id, c.auto_renew_status, c.expiration_intent, c.is_in_billing_retry_period, c.price_increase_status,
                c.grace_period_expires_date, c.renewal_date, c.renewal_price, c.renewal_quantity, c.renewal_currency AS currency,
                c.renewal_offer_type AS offer_type, c.renewal_offer_identifier AS offer_identifier,
                c.renewal_offer_discount_type AS offer_discount_type, c.renewal_offer_period AS offer_period,
                c.recent_subscription_start_date, c.renewal_app_account_token AS app_account_token,
                c.renewal_app_transaction_id AS app_transaction_id, c.renewal_signed_date AS signed_date, c.renewal_hash AS fact_hash
         FROM appstore.contracts AS c WHERE c.renewal_signed_date IS NOT NULL)
        """

    /// Of a contract without access only the owner and its migrations are compared.
    private static var contracts: String {
        let fields = [
            text("bundle_id"), text("product_id"), text("product_type"), text("status"), text("will_renew"), milliseconds("started_at"),
            text("current_transaction_id"), milliseconds("current_period_start"), milliseconds("current_period_end"),
            milliseconds("revoked_at"),
            milliseconds("access_until"), text("seats_bought"), text("seats_added"), text("seats_revoked"),
            milliseconds("commitment_until"),
            text("commitment_payments_left"), text("commitment_will_renew"),
        ]
        let givesAccess = """
            EXISTS (SELECT FROM appstore.transactions AS t WHERE t.environment = ledger.environment
                    AND t.original_transaction_id = ledger.original_transaction_id AND t.confers_access)
            """
        return select(
            "contract",
            "original_transaction_id",
            [text("user_id"), joined("migrated_from"), joined("migrated_to")] + fields.map { "CASE WHEN \(givesAccess) THEN \($0) END" },
            from: "contracts"
        )
    }

    private static func joined(_ column: String) -> String { "'\(column)=' || array_to_string(\(column), ',')" }

    private static func select(_ what: String, _ key: String, _ fields: [String], from table: String) -> String {
        let words = ["'\(what) ' || environment || ' ' || \(key)"] + fields
        let source = table.hasPrefix("(") ? table : "appstore.\(table)"
        return "SELECT concat_ws(' | ', \(words.joined(separator: ", "))) FROM \(source) AS ledger"
    }

    private static func field(_ column: LedgerColumns.Column) -> String {
        switch column.kind {
        case .text: text(column.name)
        case .date: milliseconds(column.name)
        }
    }

    private static func text(_ column: String) -> String { "'\(column)=' || \(column)::text" }
    private static func hexadecimal(_ column: String) -> String { "'\(column)=' || encode(\(column), 'hex')" }
    private static func milliseconds(_ column: String) -> String {
        "'\(column)=' || CASE \(column) WHEN 'infinity' THEN 'Infinity' ELSE (extract(epoch FROM \(column)) * 1000)::bigint::text END"
    }
}
