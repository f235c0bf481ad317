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
        return .mergeContracts(
            environments: contracts.map(\.key.environment.rawValue),
            originalTransactionIDs: contracts.map(\.key.id),
            statuses: facts.map(\.?.status?.rawValue),
            productIDs: renewals.map(\.?.productId),
            autoRenewProductIDs: renewals.map(\.?.autoRenewProductId),
            autoRenewStatuses: renewals.map(\.?.autoRenewStatus?.rawValue),
            expirationIntents: renewals.map(\.?.expirationIntent?.rawValue),
            isInBillingRetryPeriod: renewals.map(\.?.isInBillingRetryPeriod),
            priceIncreaseStatuses: renewals.map(\.?.priceIncreaseStatus?.rawValue),
            gracePeriodExpiresDates: renewals.map { PostgresTimestamp($0?.gracePeriodExpiresDate) },
            renewalDates: renewals.map { PostgresTimestamp($0?.renewalDate) },
            renewalPrices: renewals.map(\.?.renewalPrice),
            currencies: renewals.map(\.?.currency),
            offerTypes: renewals.map(\.?.offerType?.rawValue),
            offerIdentifiers: renewals.map(\.?.offerIdentifier),
            offerDiscountTypes: renewals.map(\.?.offerDiscountType?.rawValue),
            offerPeriods: renewals.map(\.?.offerPeriod),
            eligibleWinBackOfferIDs: renewals.map { $0?.eligibleWinBackOfferIds.map(JSONText.init(strings:)) },
            recentSubscriptionStartDates: renewals.map { PostgresTimestamp($0?.recentSubscriptionStartDate) },
            appAccountTokens: renewals.map(\.?.appAccountToken),
            appTransactionIDs: renewals.map(\.?.appTransactionId),
            renewalBillingPlanTypes: renewals.map(\.?.renewalBillingPlanType?.rawValue),
            signedDates: facts.map { PostgresTimestamp($0?.version.signedDate) },
            factHashes: facts.map(\.?.version.hash)
        )
    }
}

extension JSONText {
    fileprivate init(strings: [String]) {
        self.init(JSONSerializer.text(.array(strings.map { .string($0) })))
    }
}
