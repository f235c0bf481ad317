import AppStore
import Ledger
import Postgres

/// How transaction registers are merged: one upsert for a whole batch, in key order, as two batches that meet must lock alike.
///
/// Columns come from a list of `unnest`s: for one in FROM, PostgreSQL would store each column by itself first, which takes twice as long.
enum TransactionMerge {
    private static let columns =
        ["environment", "transaction_id"] + constants + gathered + ["is_subscription", "app_account_token"] + state
        + signedHalf + receiptHalf + ["first_signed_date"] + firstToken
    /// What derive_books makes of most new charges, renewals, so that it need not touch the row again.
    private static let guessed = ["order_no", "named_no"]

    /// Returns environment, transaction_id, payload_hash and receipt_hash of the rows that moved.
    static func statement(_ registers: [TransactionRegister]) -> Statement {
        let rows = registers.map(TransactionRow.init)
        return """
            INSERT INTO appstore.transactions AS t (\(unsafeRaw: (columns + guessed).joined(separator: ", ")))
            SELECT \(unsafeRaw: columns.map { "u." + $0 }.joined(separator: ", ")), u.period_no, u.first_token
            FROM (
                SELECT unnest(\(rows.map(\.environment))) AS environment, unnest(\(rows.map(\.transactionID))) AS transaction_id,
                       unnest(\(rows.map(\.originalTransactionID))) AS original_transaction_id,
                       unnest(\(rows.map(\.webOrderLineItemID))) AS web_order_line_item_id, unnest(\(rows.map(\.bundleID))) AS bundle_id,
                       unnest(\(rows.map(\.productID))) AS product_id, unnest(\(rows.map(\.purchaseDate))) AS purchase_date,
                       unnest(\(rows.map(\.originalPurchaseDate))) AS original_purchase_date, unnest(\(rows.map(\.quantity))) AS quantity,
                       unnest(\(rows.map(\.offerType))) AS offer_type, unnest(\(rows.map(\.offerIdentifier))) AS offer_identifier,
                       unnest(\(rows.map(\.offerDiscountType))) AS offer_discount_type, unnest(\(rows.map(\.offerPeriod))) AS offer_period,
                       unnest(\(rows.map(\.storefront))) AS storefront, unnest(\(rows.map(\.storefrontID))) AS storefront_id,
                       unnest(\(rows.map(\.transactionReason))) AS transaction_reason, unnest(\(rows.map(\.currency))) AS currency,
                       unnest(\(rows.map(\.price))) AS price, unnest(\(rows.map(\.appTransactionID))) AS app_transaction_id,
                       unnest(\(rows.map(\.billingPlanType))) AS billing_plan_type, unnest(\(rows.map(\.periodNumber))) AS period_no,
                       unnest(\(rows.map(\.productType))) AS product_type,
                       unnest(\(rows.map(\.inAppOwnershipType))) AS in_app_ownership_type,
                       unnest(\(rows.map(\.subscriptionGroupIdentifier))) AS subscription_group_identifier,
                       unnest(\(rows.map(\.isSubscription))) AS is_subscription, unnest(\(rows.map(\.appAccountToken))) AS app_account_token,
                       unnest(\(rows.map(\.expiresDate))) AS expires_date, unnest(\(rows.map(\.revocationDate))) AS revocation_date,
                       unnest(\(rows.map(\.revocationReason))) AS revocation_reason, unnest(\(rows.map(\.isUpgraded))) AS is_upgraded,
                       unnest(\(rows.map(\.revocationType))) AS revocation_type,
                       unnest(\(rows.map(\.revocationPercentage))) AS revocation_percentage,
                       unnest(\(rows.map(\.signedDate))) AS signed_date, unnest(\(rows.map(\.payloadHash))) AS payload_hash,
                       unnest(\(rows.map(\.receiptDate))) AS receipt_date, unnest(\(rows.map(\.receiptHash))) AS receipt_hash,
                       unnest(\(rows.map(\.receiptExpiresDate))) AS receipt_expires_date,
                       unnest(\(rows.map(\.receiptRevocationDate))) AS receipt_revocation_date,
                       unnest(\(rows.map(\.receiptRevocationReason))) AS receipt_revocation_reason,
                       unnest(\(rows.map(\.receiptIsUpgraded))) AS receipt_is_upgraded,
                       unnest(\(rows.map(\.firstSignedDate))) AS first_signed_date, unnest(\(rows.map(\.firstToken))) AS first_token,
                       unnest(\(rows.map(\.firstTokenSignedDate))) AS first_token_signed_date,
                       unnest(\(rows.map(\.firstTokenHash))) AS first_token_hash
            ) AS u
            ORDER BY u.environment, u.transaction_id
            ON CONFLICT (environment, transaction_id) DO UPDATE SET \(unsafeRaw: update)
            WHERE \(unsafeRaw: moves)
            RETURNING t.environment::text, t.transaction_id, t.payload_hash, t.receipt_hash
            """
    }
}
