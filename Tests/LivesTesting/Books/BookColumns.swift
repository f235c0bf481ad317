/// How the columns of the registers are named by Apple. Both the model's lines and the database's are made of this list.
package enum BookColumns {
    /// What a column holds.
    package enum Kind: Sendable {
        case text
        /// Milliseconds since 1970 in Apple's payload, a timestamp in the database.
        case date
    }

    /// A column and the member of Apple's payload that it holds.
    package struct Column: Sendable {
        package let name: String
        package let member: String
        package let kind: Kind

        init(_ name: String, _ member: String, _ kind: Kind = .text) {
            self.name = name
            self.member = member
            self.kind = kind
        }
    }

    /// What never changes.
    package static let transactions = [
        Column("original_transaction_id", "originalTransactionId"),
        Column("web_order_line_item_id", "webOrderLineItemId"),
        Column("bundle_id", "bundleId"),
        Column("product_id", "productId"),
        Column("purchase_date", "purchaseDate", .date),
        Column("original_purchase_date", "originalPurchaseDate", .date),
        Column("quantity", "quantity"),
        Column("offer_type", "offerType"),
        Column("offer_identifier", "offerIdentifier"),
        Column("offer_discount_type", "offerDiscountType"),
        Column("offer_period", "offerPeriod"),
        Column("storefront", "storefront"),
        Column("storefront_id", "storefrontId"),
        Column("transaction_reason", "transactionReason"),
        Column("currency", "currency"),
        Column("price", "price"),
        Column("app_transaction_id", "appTransactionId"),
        // How much of a refund it was, only a JWS tells.
        Column("revocation_type", "revocationType"),
        Column("revocation_percentage", "revocationPercentage"),
    ]

    /// What changes in a charge's life.
    package static let transactionStates = [Column("expires_date", "expiresDate", .date)] + revocation

    /// What the latest receipt says of that.
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
