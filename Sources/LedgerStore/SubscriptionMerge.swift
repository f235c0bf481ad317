import AppStore
import Ledger
import Postgres

/// How subscription registers are merged: one upsert for a whole batch, in key order.
enum SubscriptionMerge {
    private static let replaced = [
        "status", "product_id", "auto_renew_product_id", "auto_renew_status", "expiration_intent", "is_in_billing_retry_period",
        "price_increase_status", "grace_period_expires_date", "renewal_date", "renewal_price", "currency", "offer_type",
        "offer_identifier", "offer_discount_type", "offer_period", "eligible_win_back_offer_ids", "recent_subscription_start_date",
        "app_account_token", "app_transaction_id", "renewal_billing_plan_type", "signed_date", "fact_hash",
    ]
    private static let columns = ["environment", "original_transaction_id"] + replaced

    /// Returns environment and original_transaction_id of the rows that moved.
    static func statement(_ facts: [SubscriptionFact]) -> Statement {
        return """
            INSERT INTO appstore.subscriptions AS s (\(unsafeRaw: columns.joined(separator: ", ")))
            SELECT \(unsafeRaw: columns.map { "u." + $0 }.joined(separator: ", "))
            FROM unnest(
                \(facts.map(\.key.environment.rawValue)), \(facts.map(\.key.id)), \(facts.map(\.status?.rawValue)),
                \(facts.map { $0.renewalInfo?.productId }), \(facts.map { $0.renewalInfo?.autoRenewProductId }), \(facts.map { $0.renewalInfo?.autoRenewStatus?.rawValue }),
                \(facts.map { $0.renewalInfo?.expirationIntent?.rawValue }), \(facts.map { $0.renewalInfo?.isInBillingRetryPeriod }),
                \(facts.map { $0.renewalInfo?.priceIncreaseStatus?.rawValue }), \(facts.map { PostgresTimestamp($0.renewalInfo?.gracePeriodExpiresDate) }),
                \(facts.map { PostgresTimestamp($0.renewalInfo?.renewalDate) }), \(facts.map { $0.renewalInfo?.renewalPrice }), \(facts.map { $0.renewalInfo?.currency }),
                \(facts.map { $0.renewalInfo?.offerType?.rawValue }), \(facts.map { $0.renewalInfo?.offerIdentifier }),
                \(facts.map { $0.renewalInfo?.offerDiscountType?.rawValue }), \(facts.map { $0.renewalInfo?.offerPeriod }),
                \(facts.map { $0.renewalInfo?.eligibleWinBackOfferIds.map(JSONText.init(strings:)) }),
                \(facts.map { PostgresTimestamp($0.renewalInfo?.recentSubscriptionStartDate) }), \(facts.map { $0.renewalInfo?.appAccountToken }),
                \(facts.map { $0.renewalInfo?.appTransactionId }), \(facts.map { $0.renewalInfo?.renewalBillingPlanType?.rawValue }),
                \(facts.map { PostgresTimestamp($0.version.signedDate) }), \(facts.map(\.version.hash))
            ) AS u (\(unsafeRaw: columns.joined(separator: ", ")))
            ORDER BY u.environment, u.original_transaction_id
            ON CONFLICT (environment, original_transaction_id) DO UPDATE
            SET \(unsafeRaw: replaced.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
            WHERE (excluded.signed_date, excluded.fact_hash) > (s.signed_date, s.fact_hash)
            RETURNING s.environment::text, s.original_transaction_id
            """
    }
}

extension JSONText {
    fileprivate init(strings: [String]) {
        self.init(String(decoding: JSONSerializer.serialize(.array(strings.map { .string($0) })), as: UTF8.self))
    }
}
