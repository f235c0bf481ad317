import AppStore
import Ledger
import Postgres
import SQL
import StrictJSON

/// Locks contracts, and merges their renewal info and status.
enum ContractMerge {
    /// A contract and what the batch says about its renewal; nil where it is only locked.
    typealias Element = (key: LedgerKey, fact: SubscriptionFact?)

    /// Returns environment and original_transaction_id of the rows that are new or changed.
    static func statement(_ contracts: [Element]) -> Statement {
        let facts = contracts.map(\.fact)
        let renewals = facts.map(\.?.renewalInfo)
        return Statement(
            .mergeContracts,
            [
                "environments": contracts.map(\.key.environment.rawValue),
                "original_transaction_ids": contracts.map(\.key.id),
                "statuses": facts.map(\.?.status?.rawValue),
                "product_ids": renewals.map(\.?.productId),
                "auto_renew_product_ids": renewals.map(\.?.autoRenewProductId),
                "auto_renew_statuses": renewals.map(\.?.autoRenewStatus?.rawValue),
                "expiration_intents": renewals.map(\.?.expirationIntent?.rawValue),
                "is_in_billing_retry_period": renewals.map(\.?.isInBillingRetryPeriod),
                "price_increase_statuses": renewals.map(\.?.priceIncreaseStatus?.rawValue),
                "grace_period_expires_dates": renewals.map { PostgresTimestamp($0?.gracePeriodExpiresDate) },
                "renewal_dates": renewals.map { PostgresTimestamp($0?.renewalDate) },
                "renewal_prices": renewals.map(\.?.renewalPrice),
                "currencies": renewals.map(\.?.currency),
                "offer_types": renewals.map(\.?.offerType?.rawValue),
                "offer_identifiers": renewals.map(\.?.offerIdentifier),
                "offer_discount_types": renewals.map(\.?.offerDiscountType?.rawValue),
                "offer_periods": renewals.map(\.?.offerPeriod),
                "eligible_win_back_offer_ids": renewals.map { $0?.eligibleWinBackOfferIds.map(JSONText.init(strings:)) },
                "recent_subscription_start_dates": renewals.map { PostgresTimestamp($0?.recentSubscriptionStartDate) },
                "app_account_tokens": renewals.map(\.?.appAccountToken),
                "app_transaction_ids": renewals.map(\.?.appTransactionId),
                "renewal_billing_plan_types": renewals.map(\.?.renewalBillingPlanType?.rawValue),
                "signed_dates": facts.map { PostgresTimestamp($0?.version.signedDate) },
                "fact_hashes": facts.map(\.?.version.hash),
            ]
        )
    }
}

extension JSONText {
    fileprivate init(strings: [String]) {
        self.init(JSONSerializer.text(.array(strings.map { .string($0) })))
    }
}
