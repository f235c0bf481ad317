import AppStore
import Ledger
import Postgres

/// How transaction registers are merged: one upsert for a whole batch, in key order, as two batches that meet must lock alike.
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
            FROM unnest(
                \(rows.map(\.environment)), \(rows.map(\.transactionID)),
                \(rows.map(\.originalTransactionID)), \(rows.map(\.webOrderLineItemID)), \(rows.map(\.bundleID)), \(rows.map(\.productID)),
                \(rows.map(\.purchaseDate)), \(rows.map(\.originalPurchaseDate)), \(rows.map(\.quantity)), \(rows.map(\.offerType)),
                \(rows.map(\.offerIdentifier)), \(rows.map(\.offerDiscountType)), \(rows.map(\.offerPeriod)), \(rows.map(\.storefront)),
                \(rows.map(\.storefrontID)), \(rows.map(\.transactionReason)), \(rows.map(\.currency)), \(rows.map(\.price)),
                \(rows.map(\.appTransactionID)), \(rows.map(\.billingPlanType)), \(rows.map(\.periodNumber)),
                \(rows.map(\.productType)), \(rows.map(\.inAppOwnershipType)), \(rows.map(\.subscriptionGroupIdentifier)),
                \(rows.map(\.isSubscription)), \(rows.map(\.appAccountToken)),
                \(rows.map(\.expiresDate)), \(rows.map(\.revocationDate)), \(rows.map(\.revocationReason)), \(rows.map(\.isUpgraded)),
                \(rows.map(\.revocationType)), \(rows.map(\.revocationPercentage)), \(rows.map(\.signedDate)), \(rows.map(\.payloadHash)),
                \(rows.map(\.receiptDate)), \(rows.map(\.receiptHash)), \(rows.map(\.receiptExpiresDate)),
                \(rows.map(\.receiptRevocationDate)), \(rows.map(\.receiptRevocationReason)), \(rows.map(\.receiptIsUpgraded)),
                \(rows.map(\.firstSignedDate)), \(rows.map(\.firstToken)), \(rows.map(\.firstTokenSignedDate)), \(rows.map(\.firstTokenHash))
            ) AS u (\(unsafeRaw: columns.joined(separator: ", ")))
            ORDER BY u.environment, u.transaction_id
            ON CONFLICT (environment, transaction_id) DO UPDATE SET \(unsafeRaw: update)
            WHERE \(unsafeRaw: moves)
            RETURNING t.environment::text, t.transaction_id, t.payload_hash, t.receipt_hash
            """
    }
}
