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
            environment: facts.map(\.contract.environment.rawValue),
            originalTransactionID: facts.map(\.contract.id),
            bundleID: facts.map(\.key.bundleID),
            provenance: facts.map(\.provenance.rawValue),
            productID: renewals.map(\.productID),
            autoRenewProductID: renewals.map(\.autoRenewProductID),
            autoRenewStatus: renewals.map(\.autoRenewStatus?.rawValue),
            isInBillingRetryPeriod: renewals.map(\.isInBillingRetryPeriod),
            expirationIntent: renewals.map(\.expirationIntent?.rawValue),
            gracePeriodExpiresDate: renewals.map { PostgresTimestamp($0.gracePeriodExpiresDate) },
            priceIncreaseStatus: renewals.map { ($0.priceIncreaseStatus ?? $0.priceConsentStatus)?.rawValue },
            promotionalOfferID: renewals.map(\.promotionalOfferID),
            offerCodeRefName: renewals.map(\.offerCodeRefName),
            statedAt: facts.map { PostgresTimestamp($0.version.signedDate) },
            factHash: facts.map(\.version.hash)
        )
    }
}
