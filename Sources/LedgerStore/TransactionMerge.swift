import AppStore
import Ledger
import Postgres
import SQL

/// Merges transactions: the statement joins two registers as ``TransactionRegister/join(_:)`` does.
enum TransactionMerge {
    /// Returns environment, transaction_id, payload_hash and receipt_hash of the rows that changed.
    static func statement(_ registers: [TransactionRegister]) -> Statement {
        let rows = registers.map(TransactionRow.init)
        return Statement(
            .mergeTransactions,
            [
                "environments": rows.map(\.environment),
                "transaction_ids": rows.map(\.transactionID),
                "original_transaction_ids": rows.map(\.originalTransactionID),
                "web_order_line_item_ids": rows.map(\.webOrderLineItemID),
                "bundle_ids": rows.map(\.bundleID),
                "product_ids": rows.map(\.productID),
                "purchase_dates": rows.map(\.purchaseDate),
                "original_purchase_dates": rows.map(\.originalPurchaseDate),
                "quantities": rows.map(\.quantity),
                "offer_types": rows.map(\.offerType),
                "offer_identifiers": rows.map(\.offerIdentifier),
                "offer_discount_types": rows.map(\.offerDiscountType),
                "offer_periods": rows.map(\.offerPeriod),
                "storefronts": rows.map(\.storefront),
                "storefront_ids": rows.map(\.storefrontID),
                "transaction_reasons": rows.map(\.transactionReason),
                "currencies": rows.map(\.currency),
                "prices": rows.map(\.price),
                "app_transaction_ids": rows.map(\.appTransactionID),
                "billing_plan_types": rows.map(\.billingPlanType),
                "period_nos": rows.map(\.periodNumber),
                "product_types": rows.map(\.productType),
                "in_app_ownership_types": rows.map(\.inAppOwnershipType),
                "subscription_group_identifiers": rows.map(\.subscriptionGroupIdentifier),
                "is_subscription": rows.map(\.isSubscription),
                "app_account_tokens": rows.map(\.appAccountToken),
                "expires_dates": rows.map(\.expiresDate),
                "revocation_dates": rows.map(\.revocationDate),
                "revocation_reasons": rows.map(\.revocationReason),
                "is_upgraded": rows.map(\.isUpgraded),
                "revocation_types": rows.map(\.revocationType),
                "revocation_percentages": rows.map(\.revocationPercentage),
                "signed_dates": rows.map(\.signedDate),
                "payload_hashes": rows.map(\.payloadHash),
                "receipt_dates": rows.map(\.receiptDate),
                "receipt_hashes": rows.map(\.receiptHash),
                "receipt_expires_dates": rows.map(\.receiptExpiresDate),
                "receipt_revocation_dates": rows.map(\.receiptRevocationDate),
                "receipt_revocation_reasons": rows.map(\.receiptRevocationReason),
                "receipt_is_upgraded": rows.map(\.receiptIsUpgraded),
                "first_signed_dates": rows.map(\.firstSignedDate),
                "first_tokens": rows.map(\.firstToken),
                "first_token_signed_dates": rows.map(\.firstTokenSignedDate),
                "first_token_hashes": rows.map(\.firstTokenHash),
            ]
        )
    }
}
