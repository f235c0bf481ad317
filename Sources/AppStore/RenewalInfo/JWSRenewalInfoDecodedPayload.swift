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
    /// Only for monthly payments of a commitment.
    package let commitmentInfo: RenewalCommitmentInfo?
    /// Only for subscriptions with several seats, of which `renewalPrice` is the average price.
    package let multiSeatInfo: RenewalMultiSeatInfo?
    /// The number of seats that the subscription will renew with.
    package let renewalQuantity: Int32?
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case expirationIntent, originalTransactionId, autoRenewProductId, productId, autoRenewStatus
        case isInBillingRetryPeriod, priceIncreaseStatus, gracePeriodExpiresDate, offerType, offerIdentifier
        case signedDate, environment, recentSubscriptionStartDate, renewalDate, currency, renewalPrice
        case offerDiscountType, eligibleWinBackOfferIds, appAccountToken, appTransactionId, offerPeriod
        case renewalBillingPlanType, commitmentInfo, multiSeatInfo, renewalQuantity
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        expirationIntent = members.value(.expirationIntent)
        originalTransactionId = members.identifier(.originalTransactionId)
        autoRenewProductId = members.string(.autoRenewProductId)
        productId = members.string(.productId)
        autoRenewStatus = members.value(.autoRenewStatus)
        isInBillingRetryPeriod = members.bool(.isInBillingRetryPeriod)
        priceIncreaseStatus = members.value(.priceIncreaseStatus)
        gracePeriodExpiresDate = members.timestamp(.gracePeriodExpiresDate)
        offerType = members.value(.offerType)
        offerIdentifier = members.string(.offerIdentifier)
        signedDate = members.timestamp(.signedDate)
        environment = members.value(.environment)
        recentSubscriptionStartDate = members.timestamp(.recentSubscriptionStartDate)
        renewalDate = members.timestamp(.renewalDate)
        currency = members.string(.currency)
        renewalPrice = members.integer(.renewalPrice)
        offerDiscountType = members.value(.offerDiscountType)
        eligibleWinBackOfferIds = members.strings(.eligibleWinBackOfferIds)
        appAccountTokenText = members.string(.appAccountToken)
        appAccountToken = appAccountTokenText.flatMap { UUID(uuidString: $0) }
        appTransactionId = members.identifier(.appTransactionId)
        offerPeriod = members.string(.offerPeriod)
        renewalBillingPlanType = members.value(.renewalBillingPlanType)
        commitmentInfo = members.object(.commitmentInfo)
        multiSeatInfo = members.object(.multiSeatInfo)
        renewalQuantity = members.integer32(.renewalQuantity)
        odd = members.odd
        unknown = members.unknown
    }
}
