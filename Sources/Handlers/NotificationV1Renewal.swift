import AppStore
import Ledger

/// What a notification V1 says of the renewal that it is about, gathered from wherever the vintages say it.
struct NotificationV1Renewal {
    /// Nil when several contracts are in question.
    let contract: String?
    let productID: String?
    private let autoRenewStatus: AutoRenewStatus?
    private let gracePeriodExpiresDate: Timestamp?
    private let consentStatus: PriceIncreaseStatus?

    init(of body: ResponseBodyV1, among renewals: [LegacyRenewalFact]) {
        let candidates = Self.candidates(for: body, among: renewals)
        let renewal = candidates.first?.renewal
        let isOnly = candidates.count == 1
        contract = body.originalTransactionID ?? (isOnly ? candidates.first?.contract.id : nil)
        productID = isOnly ? renewal?.productID ?? renewal?.autoRenewProductID : body.autoRenewProductID
        autoRenewStatus = body.autoRenewStatus ?? renewal?.autoRenewStatus
        gracePeriodExpiresDate = body.gracePeriodExpiresDate ?? renewal?.gracePeriodExpiresDate
        consentStatus = body.priceConsentStatus ?? renewal?.priceIncreaseStatus ?? renewal?.priceConsentStatus
    }

    /// What happened; nil for a type that says nothing beyond its receipt, and where the body does not say which of two it is.
    func effect(of type: NotificationTypeV1?) -> EffectKind? {
        switch type {
        case .didFailToRenew: gracePeriodExpiresDate == nil ? .billingRetryStarted : .gracePeriodStarted
        case .didChangeRenewalStatus: autoRenewStatus.map { $0 == .on ? .willRenew : .willNotRenew }
        case .didChangeRenewalPref: .planChanged
        case .priceIncreaseConsent:
            consentStatus == .customerConsentedOrWasNotifiedWithoutNeedingConsent ? .consentGiven : .consentAsked
        case .consumptionRequest: .consumptionAsked
        default: nil
        }
    }

    /// That of the contract that the body names; else all, or those with the plan that it names, or those that could not be charged.
    private static func candidates(for body: ResponseBodyV1, among renewals: [LegacyRenewalFact]) -> [LegacyRenewalFact] {
        if let id = body.originalTransactionID { return renewals.filter { $0.contract.id == id } }
        var candidates = renewals
        func narrow(_ isMeant: (PendingRenewalInfo) -> Bool) {
            let meant = candidates.filter { isMeant($0.renewal) }
            if !meant.isEmpty { candidates = meant }
        }
        if let product = body.autoRenewProductID { narrow { $0.autoRenewProductID == product } }
        if body.notificationType == .didFailToRenew { narrow { $0.isInBillingRetryPeriod == true } }
        return candidates
    }
}
