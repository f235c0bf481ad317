/// The register columns and their names in Apple's payloads. The lines of the model and of the database are built from this list.
package enum LedgerColumns {
    /// The type of a column.
    package enum Kind: Sendable {
        case text
        /// Milliseconds since 1970 in Apple's payload, a timestamp in the database.
        case date
    }

    /// A column and the corresponding member of Apple's payload.
    package struct Column: Sendable {
        package let name: String
        package let member: String
        package let kind: Kind
        /// Whether a newer statement without the member keeps the known value.
        package let isLasting: Bool

        init(_ name: String, _ member: String, _ kind: Kind = .text, isLasting: Bool = false) {
            self.name = name
            self.member = member
            self.kind = kind
            self.isLasting = isLasting
        }
    }

    /// The constant columns of a charge.
    package static let transactions = [
        Column("original_transaction_id", "originalTransactionId"),
        Column("web_order_line_item_id", "webOrderLineItemId"),
        Column("bundle_id", "bundleId"),
        Column("product_id", "productId"),
        Column("purchase_date", "purchaseDate", .date),
        Column("original_purchase_date", "originalPurchaseDate", .date, isLasting: true),
        Column("quantity", "quantity", isLasting: true),
        Column("offer_type", "offerType", isLasting: true),
        Column("offer_identifier", "offerIdentifier", isLasting: true),
        Column("offer_discount_type", "offerDiscountType", isLasting: true),
        Column("offer_period", "offerPeriod", isLasting: true),
        Column("storefront", "storefront", isLasting: true),
        Column("storefront_id", "storefrontId", isLasting: true),
        Column("transaction_reason", "transactionReason", isLasting: true),
        Column("currency", "currency", isLasting: true),
        Column("price", "price", isLasting: true),
        Column("app_transaction_id", "appTransactionId", isLasting: true),
        Column("previous_original_transaction_id", "previousOriginalTransactionId", isLasting: true),
        // Only a JWS has the extent of a refund.
        Column("revocation_type", "revocationType"),
        Column("revocation_percentage", "revocationPercentage"),
        Column("additional_transaction_reason", "additionalTransactionReason"),
        Column("billing_plan_type", "billingPlanType"),
    ]

    /// The columns of a charge that change.
    package static let transactionStates = [Column("expires_date", "expiresDate", .date)] + revocation

    /// The same columns according to the latest receipt.
    package static let receiptHalf = ([Column("expires_date", "expiresDate", .date)] + revocation).map { column in
        Column("receipt_\(column.name)", column.member, column.kind)
    }

    private static let revocation = [
        Column("revocation_date", "revocationDate", .date), Column("revocation_reason", "revocationReason"),
        Column("is_upgraded", "isUpgraded"),
    ]

    package static let subscriptions = [
        Column("product_id", "productId"),
        Column("auto_renew_product_id", "autoRenewProductId"),
        Column("auto_renew_status", "autoRenewStatus"),
        Column("expiration_intent", "expirationIntent"),
        Column("is_in_billing_retry_period", "isInBillingRetryPeriod"),
        Column("price_increase_status", "priceIncreaseStatus"),
        Column("grace_period_expires_date", "gracePeriodExpiresDate", .date),
        Column("renewal_date", "renewalDate", .date),
        Column("renewal_price", "renewalPrice"),
        Column("renewal_quantity", "renewalQuantity"),
        Column("currency", "currency"),
        Column("offer_type", "offerType"),
        Column("offer_identifier", "offerIdentifier"),
        Column("offer_discount_type", "offerDiscountType"),
        Column("offer_period", "offerPeriod"),
        Column("recent_subscription_start_date", "recentSubscriptionStartDate", .date),
        Column("app_account_token", "appAccountToken"),
        Column("app_transaction_id", "appTransactionId"),
    ]
}
