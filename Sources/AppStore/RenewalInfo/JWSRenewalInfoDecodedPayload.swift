package import FoundationEssentials
package import StrictJSON

/// The renewal state of a subscription.
package struct JWSRenewalInfoDecodedPayload: PayloadObject {
    package let expirationIntent: ExpirationIntent?
    /// Identifies the contract.
    package let originalTransactionId: String?
    /// The product of the next period.
    package let autoRenewProductId: String?
    /// The product of the current period.
    package let productId: String?
    package let autoRenewStatus: AutoRenewStatus?
    package let isInBillingRetryPeriod: Bool?
    package let priceIncreaseStatus: PriceIncreaseStatus?
    package let gracePeriodExpiresDate: Timestamp?
    package let offerType: OfferType?
    package let offerIdentifier: String?
    package let signedDate: Timestamp?
    package let environment: AppStoreEnvironment?
    /// The start of the latest run of the subscription, ignoring gaps of up to 60 days.
    package let recentSubscriptionStartDate: Timestamp?
    package let renewalDate: Timestamp?
    /// ISO 4217.
    package let currency: String?
    /// In thousandths of the currency's unit.
    package let renewalPrice: Int64?
    package let offerDiscountType: OfferDiscountType?
    package let eligibleWinBackOfferIds: [String]?
    /// The UUID that the app set at the purchase; `nil` for text that is not a UUID.
    package let appAccountToken: UUID?
    /// The text of `appAccountToken`, UUID or not.
    package let appAccountTokenText: String?
    /// One download of the app by one Apple Account.
    package let appTransactionId: String?
    /// ISO 8601 duration.
    package let offerPeriod: String?
    package let renewalBillingPlanType: BillingPlanType?

    package enum Member: String, CaseIterable {
        case expirationIntent, originalTransactionId, autoRenewProductId, productId, autoRenewStatus
        case isInBillingRetryPeriod, priceIncreaseStatus, gracePeriodExpiresDate, offerType, offerIdentifier
        case signedDate, environment, recentSubscriptionStartDate, renewalDate, currency, renewalPrice
        case offerDiscountType, eligibleWinBackOfferIds, appAccountToken, appTransactionId, offerPeriod
        case renewalBillingPlanType
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        expirationIntent = try members.value(.expirationIntent)
        originalTransactionId = try members.identifier(.originalTransactionId)
        autoRenewProductId = try members.string(.autoRenewProductId)
        productId = try members.string(.productId)
        autoRenewStatus = try members.value(.autoRenewStatus)
        isInBillingRetryPeriod = try members.bool(.isInBillingRetryPeriod)
        priceIncreaseStatus = try members.value(.priceIncreaseStatus)
        gracePeriodExpiresDate = try members.timestamp(.gracePeriodExpiresDate)
        offerType = try members.value(.offerType)
        offerIdentifier = try members.string(.offerIdentifier)
        signedDate = try members.timestamp(.signedDate)
        environment = try members.value(.environment)
        recentSubscriptionStartDate = try members.timestamp(.recentSubscriptionStartDate)
        renewalDate = try members.timestamp(.renewalDate)
        currency = try members.string(.currency)
        renewalPrice = try members.integer(.renewalPrice)
        offerDiscountType = try members.value(.offerDiscountType)
        eligibleWinBackOfferIds = try members.strings(.eligibleWinBackOfferIds)
        appAccountToken = try members.uuid(.appAccountToken)
        appAccountTokenText = try members.string(.appAccountToken)
        appTransactionId = try members.identifier(.appTransactionId)
        offerPeriod = try members.string(.offerPeriod)
        renewalBillingPlanType = try members.value(.renewalBillingPlanType)
    }
}
