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
        let infos = facts.map(\.renewalInfo)
        return """
            INSERT INTO appstore.subscriptions AS s (\(unsafeRaw: columns.joined(separator: ", ")))
            SELECT \(unsafeRaw: columns.map { "u." + $0 }.joined(separator: ", "))
            FROM unnest(
                \(facts.map(\.key.environment.rawValue)), \(facts.map(\.key.id)), \(facts.map(\.status?.rawValue)),
                \(infos.map { $0?.productId }), \(infos.map { $0?.autoRenewProductId }), \(infos.map { $0?.autoRenewStatus?.rawValue }),
                \(infos.map { $0?.expirationIntent?.rawValue }), \(infos.map { $0?.isInBillingRetryPeriod }),
                \(infos.map { $0?.priceIncreaseStatus?.rawValue }), \(infos.map { PostgresTimestamp($0?.gracePeriodExpiresDate) }),
                \(infos.map { PostgresTimestamp($0?.renewalDate) }), \(infos.map { $0?.renewalPrice }), \(infos.map { $0?.currency }),
                \(infos.map { $0?.offerType?.rawValue }), \(infos.map { $0?.offerIdentifier }),
                \(infos.map { $0?.offerDiscountType?.rawValue }), \(infos.map { $0?.offerPeriod }),
                \(infos.map { $0?.eligibleWinBackOfferIds.map(JSONText.init(strings:)) }),
                \(infos.map { PostgresTimestamp($0?.recentSubscriptionStartDate) }), \(infos.map { $0?.appAccountToken }),
                \(infos.map { $0?.appTransactionId }), \(infos.map { $0?.renewalBillingPlanType?.rawValue }),
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
