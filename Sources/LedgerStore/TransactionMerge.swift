import AppStore
import Ledger
import Postgres

/// How transaction registers are merged: one upsert for a whole batch, in key order, as two batches that meet must lock alike.
enum TransactionMerge {
    /// Columns that a newer fact replaces as a whole.
    private static let replaced = [
        "original_transaction_id", "web_order_line_item_id", "bundle_id", "product_id", "product_type", "subscription_group_identifier",
        "purchase_date", "original_purchase_date", "expires_date", "quantity", "app_account_token", "in_app_ownership_type",
        "revocation_date", "revocation_reason", "revocation_type", "revocation_percentage", "is_upgraded", "offer_type",
        "offer_identifier", "offer_discount_type", "offer_period", "storefront", "storefront_id", "transaction_reason", "currency",
        "price", "app_transaction_id", "billing_plan_type", "period_no", "is_subscription", "signed_date", "payload_hash",
    ]
    private static let isNewer = "(excluded.signed_date, excluded.payload_hash) > (t.signed_date, t.payload_hash)"
    private static let isFirstToken = """
        (excluded.first_token IS NOT NULL AND (t.first_token IS NULL
            OR (excluded.first_token_signed_date, excluded.first_token_hash) < (t.first_token_signed_date, t.first_token_hash)))
        """
    private static let firstToken = ["first_token", "first_token_signed_date", "first_token_hash"]
    private static let columns = ["environment", "transaction_id"] + replaced + ["first_signed_date"] + firstToken
    /// What derive_books makes of most new charges, renewals, so that it need not touch the row again.
    private static let guessed = ["order_no", "named_no"]

    /// Each register is a join of its own: the latest fact, the first signed date, the first token.
    private static let update =
        (replaced.map { "\($0) = CASE WHEN \(isNewer) THEN excluded.\($0) ELSE t.\($0) END" }
        + ["first_signed_date = least(t.first_signed_date, excluded.first_signed_date)"]
        + firstToken.map { "\($0) = CASE WHEN \(isFirstToken) THEN excluded.\($0) ELSE t.\($0) END" })
        .joined(separator: ", ")

    /// Returns environment, transaction_id and payload_hash of the rows that moved.
    static func statement(_ registers: [TransactionRegister]) -> Statement {
        let facts = registers.map(\.latest)
        let payloads = facts.map(\.payload)
        return """
            INSERT INTO appstore.transactions AS t (\(unsafeRaw: (columns + guessed).joined(separator: ", ")))
            SELECT \(unsafeRaw: columns.map { "u." + $0 }.joined(separator: ", ")), u.period_no, u.first_token
            FROM unnest(
                \(facts.map(\.key.environment.rawValue)), \(facts.map(\.key.id)),
                \(facts.map(\.originalTransactionID)), \(payloads.map(\.webOrderLineItemId)), \(facts.map(\.bundleID)),
                \(facts.map(\.productID)), \(payloads.map(\.type?.rawValue)), \(payloads.map(\.subscriptionGroupIdentifier)),
                \(facts.map { PostgresTimestamp($0.purchaseDate) }), \(payloads.map { PostgresTimestamp($0.originalPurchaseDate) }),
                \(payloads.map { PostgresTimestamp($0.expiresDate) }), \(payloads.map(\.quantity)),
                \(payloads.map(\.appAccountToken)), \(payloads.map(\.inAppOwnershipType?.rawValue)),
                \(payloads.map { PostgresTimestamp($0.revocationDate) }), \(payloads.map(\.revocationReason?.rawValue)),
                \(payloads.map(\.revocationType?.rawValue)), \(payloads.map(\.revocationPercentage)), \(payloads.map(\.isUpgraded)),
                \(payloads.map(\.offerType?.rawValue)), \(payloads.map(\.offerIdentifier)),
                \(payloads.map(\.offerDiscountType?.rawValue)), \(payloads.map(\.offerPeriod)), \(payloads.map(\.storefront)),
                \(payloads.map(\.storefrontId)), \(payloads.map(\.transactionReason?.rawValue)), \(payloads.map(\.currency)),
                \(payloads.map(\.price)), \(payloads.map(\.appTransactionId)), \(payloads.map(\.billingPlanType?.rawValue)),
                \(facts.map(\.periodNumber)), \(facts.map(\.isSubscription)),
                \(facts.map { PostgresTimestamp($0.version.signedDate) }), \(facts.map(\.version.hash)),
                \(registers.map { PostgresTimestamp($0.firstSignedDate) }), \(registers.map(\.firstToken?.token)),
                \(registers.map { PostgresTimestamp($0.firstToken?.version.signedDate) }), \(registers.map(\.firstToken?.version.hash))
            ) AS u (\(unsafeRaw: columns.joined(separator: ", ")))
            ORDER BY u.environment, u.transaction_id
            ON CONFLICT (environment, transaction_id) DO UPDATE SET \(unsafeRaw: update)
            WHERE \(unsafeRaw: isNewer) OR excluded.first_signed_date < t.first_signed_date OR \(unsafeRaw: isFirstToken)
            RETURNING t.environment::text, t.transaction_id, t.payload_hash
            """
    }
}
