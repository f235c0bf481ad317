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
            environment: contracts.map(\.key.environment.rawValue),
            originalTransactionID: contracts.map(\.key.id),
            renewalStatus: facts.map(\.?.status?.rawValue),
            renewalProductID: renewals.map(\.?.productId),
            autoRenewProductID: renewals.map(\.?.autoRenewProductId),
            autoRenewStatus: renewals.map(\.?.autoRenewStatus?.rawValue),
            expirationIntent: renewals.map(\.?.expirationIntent?.rawValue),
            isInBillingRetryPeriod: renewals.map(\.?.isInBillingRetryPeriod),
            priceIncreaseStatus: renewals.map(\.?.priceIncreaseStatus?.rawValue),
            gracePeriodExpiresDate: renewals.map { PostgresTimestamp($0?.gracePeriodExpiresDate) },
            renewalDate: renewals.map { PostgresTimestamp($0?.renewalDate) },
            renewalPrice: renewals.map(\.?.price),
            renewalCurrency: renewals.map(\.?.currency),
            renewalOfferType: renewals.map(\.?.offerType?.rawValue),
            renewalOfferIdentifier: renewals.map(\.?.offerIdentifier),
            renewalOfferDiscountType: renewals.map(\.?.offerDiscountType?.rawValue),
            renewalOfferPeriod: renewals.map(\.?.offerPeriod),
            eligibleWinBackOfferIDs: renewals.map { $0?.eligibleWinBackOfferIds.map(JSONText.init(strings:)) },
            recentSubscriptionStartDate: renewals.map { PostgresTimestamp($0?.recentSubscriptionStartDate) },
            renewalAppAccountToken: renewals.map(\.?.appAccountToken),
            renewalAppTransactionID: renewals.map(\.?.appTransactionId),
            renewalBillingPlanType: renewals.map(\.?.renewalBillingPlanType?.rawValue),
            renewalSignedDate: facts.map { PostgresTimestamp($0?.version.signedDate) },
            renewalHash: facts.map(\.?.version.hash),
            renewalQuantity: renewals.map(\.?.renewalQuantity),
            renewalCommitmentInfo: renewals.map { $0?.commitmentInfo?.document }
        )
    }
}

extension JWSRenewalInfoDecodedPayload {
    /// What the renewal will cost: as ``TransactionFact/price``.
    fileprivate var price: Int64? {
        if let total = multiSeatInfo?.total { return total }
        guard let renewalPrice, let renewalQuantity, renewalQuantity > 1 else { return renewalPrice }
        let (product, overflow) = renewalPrice.multipliedReportingOverflow(by: Int64(renewalQuantity))
        return overflow ? renewalPrice : product
    }
}

extension RenewalCommitmentInfo {
    /// Its known members as Apple names them.
    fileprivate var document: JSONText {
        JSONText(members: [
            ("commitmentAutoRenewProductId", commitmentAutoRenewProductId.map { .string($0) }),
            ("commitmentAutoRenewStatus", commitmentAutoRenewStatus.map { .integer($0.rawValue) }),
            ("commitmentRenewalBillingPlanType", commitmentRenewalBillingPlanType.map { .string($0.rawValue) }),
            ("commitmentRenewalDate", commitmentRenewalDate.map { .integer($0.millisecondsSince1970) }),
            ("commitmentRenewalPrice", commitmentRenewalPrice.map { .integer($0) }),
        ])
    }
}

extension JSONText {
    fileprivate init(strings: [String]) {
        self.init(JSONSerializer.text(.array(strings.map { .string($0) })))
    }
}

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

/// Records the contracts of events that are about more than one.
enum EventContractMerge {
    static func statement(_ rows: [(contract: LedgerKey, eventID: Int64)]) -> Statement {
        .mergeEventContracts(
            environments: rows.map(\.contract.environment.rawValue),
            originalTransactionIDs: rows.map(\.contract.id),
            eventIDs: rows.map(\.eventID)
        )
    }
}
