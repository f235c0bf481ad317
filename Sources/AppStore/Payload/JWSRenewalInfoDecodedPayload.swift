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

/// Whether the subscription will renew.
package struct AutoRenewStatus: OpenValue {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let off = AutoRenewStatus(rawValue: 0)
    package static let on = AutoRenewStatus(rawValue: 1)

    package static let known: Set = [off, on]
}

/// Why a subscription expired.
package struct ExpirationIntent: OpenValue {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let customerCancelled = ExpirationIntent(rawValue: 1)
    package static let billingError = ExpirationIntent(rawValue: 2)
    package static let customerDidNotConsentToPriceIncrease = ExpirationIntent(rawValue: 3)
    package static let productNotAvailable = ExpirationIntent(rawValue: 4)
    package static let other = ExpirationIntent(rawValue: 5)

    package static let known: Set = [customerCancelled, billingError, customerDidNotConsentToPriceIncrease, productNotAvailable, other]
}

/// Whether the customer consented to a price increase.
package struct PriceIncreaseStatus: OpenValue {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let customerHasNotResponded = PriceIncreaseStatus(rawValue: 0)
    package static let customerConsentedOrWasNotifiedWithoutNeedingConsent = PriceIncreaseStatus(rawValue: 1)

    package static let known: Set = [customerHasNotResponded, customerConsentedOrWasNotifiedWithoutNeedingConsent]
}

/// What follows the commitment of a subscription that is paid by the month; Apple's page `appstoreserverapi/renewalcommitmentinfo`.
package struct RenewalCommitmentInfo: PayloadObject {
    /// The product of the next commitment.
    package let commitmentAutoRenewProductId: String?
    /// Whether a next commitment will begin. The periods of the current one are charged in any case.
    package let commitmentAutoRenewStatus: AutoRenewStatus?
    package let commitmentRenewalBillingPlanType: BillingPlanType?
    /// The start of the next commitment.
    package let commitmentRenewalDate: Timestamp?
    /// In thousandths of the currency's unit. Apple does not say what it covers.
    package let commitmentRenewalPrice: Int64?
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case commitmentAutoRenewProductId, commitmentAutoRenewStatus, commitmentRenewalBillingPlanType
        case commitmentRenewalDate, commitmentRenewalPrice
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        commitmentAutoRenewProductId = members.string(.commitmentAutoRenewProductId)
        commitmentAutoRenewStatus = members.value(.commitmentAutoRenewStatus)
        commitmentRenewalBillingPlanType = members.value(.commitmentRenewalBillingPlanType)
        commitmentRenewalDate = members.timestamp(.commitmentRenewalDate)
        commitmentRenewalPrice = members.integer(.commitmentRenewalPrice)
        odd = members.odd
        unknown = members.unknown
    }
}

/// The price of the seats that a subscription will renew with; Apple's page `appstoreservernotifications/renewalmultiseatinfo`.
package struct RenewalMultiSeatInfo: PayloadObject {
    package let renewalPriceTiers: [MultiSeatPriceTier]?
    /// What the seats will cost together, in thousandths of the currency's unit; `nil` without tiers, or when one of them cannot be read.
    ///
    /// The `renewalPrice` of the renewal info is the average for one seat, rounded.
    package let total: Int64?
    package let odd: [MalformedPayload]

    package enum Member: String, CaseIterable {
        case renewalPriceTiers
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        (renewalPriceTiers, total) = members.priceTiers(.renewalPriceTiers)
        odd = members.odd
    }
}
