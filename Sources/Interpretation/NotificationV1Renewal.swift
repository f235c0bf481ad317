import AppStore
import Ledger

/// The renewal that a notification V1 is about, read from every place where the versions of the format put it.
struct NotificationV1Renewal {
    /// Nil when the notification may mean several contracts.
    let contract: String?
    let productID: String?
    private let autoRenewStatus: AutoRenewStatus?
    let gracePeriodExpiresDate: Timestamp?
    private let consentStatus: PriceIncreaseStatus?

    init(of body: ResponseBodyV1, among renewals: [V1RenewalFact]) {
        let candidates = Self.candidates(for: body, among: renewals)
        let renewal = candidates.first?.renewal
        let isOnly = candidates.count == 1
        contract = body.originalTransactionID ?? (isOnly ? candidates.first?.contract.id : nil)
        productID = isOnly ? renewal?.productID ?? renewal?.autoRenewProductID : body.autoRenewProductID
        autoRenewStatus = body.autoRenewStatus ?? renewal?.autoRenewStatus
        gracePeriodExpiresDate = body.gracePeriodExpiresDate ?? renewal?.gracePeriodExpiresDate
        consentStatus = body.priceConsentStatus ?? renewal?.priceIncreaseStatus ?? renewal?.priceConsentStatus
    }

    /// What happened; nil for a type that says nothing beyond its receipt, and where the body does not tell which of two effects it is.
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

    /// The renewals of the contract that the body names. Without a named contract: all, narrowed by the named plan and by a failed charge.
    private static func candidates(for body: ResponseBodyV1, among renewals: [V1RenewalFact]) -> [V1RenewalFact] {
        if let id = body.originalTransactionID { return renewals.filter { $0.contract.id == id } }
        var candidates = renewals
        func narrow(_ matches: (PendingRenewalInfo) -> Bool) {
            let matching = candidates.filter { matches($0.renewal) }
            if !matching.isEmpty { candidates = matching }
        }
        if let product = body.autoRenewProductID { narrow { $0.autoRenewProductID == product } }
        if body.notificationType == .didFailToRenew { narrow { $0.isInBillingRetryPeriod == true } }
        return candidates
    }
}
