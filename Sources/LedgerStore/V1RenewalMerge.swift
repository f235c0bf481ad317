import AppStore
import Ledger
import Postgres
import SQL

/// Merges what notifications V1 and verifyReceipt say about renewals.
enum V1RenewalMerge {
    /// Returns environment, original_transaction_id and bundle_id of the rows that changed.
    static func statement(_ facts: [V1RenewalFact]) -> Statement {
        let renewals = facts.map(\.renewal)
        return .mergeV1Renewals(
            environments: facts.map(\.contract.environment.rawValue),
            originalTransactionIDs: facts.map(\.contract.id),
            bundleIDs: facts.map(\.key.bundleID),
            provenances: facts.map(\.provenance.rawValue),
            productIDs: renewals.map(\.productID),
            autoRenewProductIDs: renewals.map(\.autoRenewProductID),
            autoRenewStatuses: renewals.map(\.autoRenewStatus?.rawValue),
            isInBillingRetryPeriod: renewals.map(\.isInBillingRetryPeriod),
            expirationIntents: renewals.map(\.expirationIntent?.rawValue),
            gracePeriodExpiresDates: renewals.map { PostgresTimestamp($0.gracePeriodExpiresDate) },
            priceIncreaseStatuses: renewals.map { ($0.priceIncreaseStatus ?? $0.priceConsentStatus)?.rawValue },
            promotionalOfferIDs: renewals.map(\.promotionalOfferID),
            offerCodeRefNames: renewals.map(\.offerCodeRefName),
            statedAt: facts.map { PostgresTimestamp($0.version.signedDate) },
            factHashes: facts.map(\.version.hash)
        )
    }
}
