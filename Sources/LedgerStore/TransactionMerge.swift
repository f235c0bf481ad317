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
        return """
            INSERT INTO appstore.transactions AS t (\(unsafeRaw: (columns + guessed).joined(separator: ", ")))
            SELECT \(unsafeRaw: columns.map { "u." + $0 }.joined(separator: ", ")), u.period_no, u.first_token
            FROM unnest(
                \(facts.map(\.key.environment.rawValue)), \(facts.map(\.key.id)),
                \(facts.map(\.originalTransactionID)), \(facts.map(\.payload.webOrderLineItemId)), \(facts.map(\.bundleID)),
                \(facts.map(\.productID)), \(facts.map(\.payload.type?.rawValue)), \(facts.map(\.payload.subscriptionGroupIdentifier)),
                \(facts.map { PostgresTimestamp($0.purchaseDate) }), \(facts.map { PostgresTimestamp($0.payload.originalPurchaseDate) }),
                \(facts.map { PostgresTimestamp($0.payload.expiresDate) }), \(facts.map(\.payload.quantity)),
                \(facts.map(\.payload.appAccountToken)), \(facts.map(\.payload.inAppOwnershipType?.rawValue)),
                \(facts.map { PostgresTimestamp($0.payload.revocationDate) }), \(facts.map(\.payload.revocationReason?.rawValue)),
                \(facts.map(\.payload.revocationType?.rawValue)), \(facts.map(\.payload.revocationPercentage)), \(facts.map(\.payload.isUpgraded)),
                \(facts.map(\.payload.offerType?.rawValue)), \(facts.map(\.payload.offerIdentifier)),
                \(facts.map(\.payload.offerDiscountType?.rawValue)), \(facts.map(\.payload.offerPeriod)), \(facts.map(\.payload.storefront)),
                \(facts.map(\.payload.storefrontId)), \(facts.map(\.payload.transactionReason?.rawValue)), \(facts.map(\.payload.currency)),
                \(facts.map(\.payload.price)), \(facts.map(\.payload.appTransactionId)), \(facts.map(\.payload.billingPlanType?.rawValue)),
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
