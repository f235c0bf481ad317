import AppStore
import Ledger
import Postgres
import SQL

/// Merges what notifications V1 and verifyReceipt say about renewals.
enum V1RenewalMerge {
    /// Returns environment, original_transaction_id and bundle_id of the rows that changed.
    static func statement(_ facts: [V1RenewalFact]) -> Statement {
        let renewals = facts.map(\.renewal)
        return Statement(
            .mergeV1Renewals,
            [
                "environments": facts.map(\.contract.environment.rawValue),
                "original_transaction_ids": facts.map(\.contract.id),
                "bundle_ids": facts.map(\.key.bundleID),
                "provenances": facts.map(\.provenance.rawValue),
                "product_ids": renewals.map(\.productID),
                "auto_renew_product_ids": renewals.map(\.autoRenewProductID),
                "auto_renew_statuses": renewals.map(\.autoRenewStatus?.rawValue),
                "is_in_billing_retry_period": renewals.map(\.isInBillingRetryPeriod),
                "expiration_intents": renewals.map(\.expirationIntent?.rawValue),
                "grace_period_expires_dates": renewals.map { PostgresTimestamp($0.gracePeriodExpiresDate) },
                "price_increase_statuses": renewals.map { ($0.priceIncreaseStatus ?? $0.priceConsentStatus)?.rawValue },
                "promotional_offer_ids": renewals.map(\.promotionalOfferID),
                "offer_code_ref_names": renewals.map(\.offerCodeRefName),
                "stated_at": facts.map { PostgresTimestamp($0.version.signedDate) },
                "fact_hashes": facts.map(\.version.hash),
            ]
        )
    }
}
