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
            FROM (
                SELECT unnest(\(facts.map(\.key.environment.rawValue))) AS environment,
                       unnest(\(facts.map(\.key.id))) AS original_transaction_id, unnest(\(facts.map(\.status?.rawValue))) AS status,
                       unnest(\(facts.map { $0.renewalInfo?.productId })) AS product_id,
                       unnest(\(facts.map { $0.renewalInfo?.autoRenewProductId })) AS auto_renew_product_id,
                       unnest(\(facts.map { $0.renewalInfo?.autoRenewStatus?.rawValue })) AS auto_renew_status,
                       unnest(\(facts.map { $0.renewalInfo?.expirationIntent?.rawValue })) AS expiration_intent,
                       unnest(\(facts.map { $0.renewalInfo?.isInBillingRetryPeriod })) AS is_in_billing_retry_period,
                       unnest(\(facts.map { $0.renewalInfo?.priceIncreaseStatus?.rawValue })) AS price_increase_status,
                       unnest(\(facts.map { PostgresTimestamp($0.renewalInfo?.gracePeriodExpiresDate) })) AS grace_period_expires_date,
                       unnest(\(facts.map { PostgresTimestamp($0.renewalInfo?.renewalDate) })) AS renewal_date,
                       unnest(\(facts.map { $0.renewalInfo?.renewalPrice })) AS renewal_price,
                       unnest(\(facts.map { $0.renewalInfo?.currency })) AS currency,
                       unnest(\(facts.map { $0.renewalInfo?.offerType?.rawValue })) AS offer_type,
                       unnest(\(facts.map { $0.renewalInfo?.offerIdentifier })) AS offer_identifier,
                       unnest(\(facts.map { $0.renewalInfo?.offerDiscountType?.rawValue })) AS offer_discount_type,
                       unnest(\(facts.map { $0.renewalInfo?.offerPeriod })) AS offer_period,
                       unnest(\(facts.map { $0.renewalInfo?.eligibleWinBackOfferIds.map(JSONText.init(strings:)) }))
                           AS eligible_win_back_offer_ids,
                       unnest(\(facts.map { PostgresTimestamp($0.renewalInfo?.recentSubscriptionStartDate) }))
                           AS recent_subscription_start_date,
                       unnest(\(facts.map { $0.renewalInfo?.appAccountToken })) AS app_account_token,
                       unnest(\(facts.map { $0.renewalInfo?.appTransactionId })) AS app_transaction_id,
                       unnest(\(facts.map { $0.renewalInfo?.renewalBillingPlanType?.rawValue })) AS renewal_billing_plan_type,
                       unnest(\(facts.map { PostgresTimestamp($0.version.signedDate) })) AS signed_date,
                       unnest(\(facts.map(\.version.hash))) AS fact_hash
            ) AS u
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
