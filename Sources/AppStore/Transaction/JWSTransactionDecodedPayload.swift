package import FoundationEssentials
package import StrictJSON

/// One transaction: a charge, or the share in one of a member of the family or group.
package struct JWSTransactionDecodedPayload: PayloadObject {
    /// The transaction of the first purchase; identifies the contract of a subscription.
    package let originalTransactionId: String?
    package let transactionId: String?
    /// Identifies one period of a subscription; several transactions can share it.
    package let webOrderLineItemId: String?
    package let bundleId: String?
    package let productId: String?
    package let subscriptionGroupIdentifier: String?
    /// The start of this period; a renewal is charged and signed before it.
    package let purchaseDate: Timestamp?
    package let originalPurchaseDate: Timestamp?
    /// The end of this period; subscriptions only.
    package let expiresDate: Timestamp?
    package let quantity: Int32?
    package let type: ProductType?
    /// The UUID that the app set at the purchase; renewals repeat the first one. `nil` for text that is not a UUID.
    package let appAccountToken: UUID?
    /// The text of `appAccountToken`, UUID or not.
    package let appAccountTokenText: String?
    package let inAppOwnershipType: InAppOwnershipType?
    package let signedDate: Timestamp?
    package let revocationReason: RevocationReason?
    /// The date of the refund or revocation; absent again after a reversal.
    package let revocationDate: Timestamp?
    package let isUpgraded: Bool?
    package let offerType: OfferType?
    package let offerIdentifier: String?
    package let environment: AppStoreEnvironment?
    /// ISO 3166-1 alpha-3.
    package let storefront: String?
    package let storefrontId: String?
    package let transactionReason: TransactionReason?
    /// ISO 4217.
    package let currency: String?
    /// In thousandths of the currency's unit.
    package let price: Int64?
    package let offerDiscountType: OfferDiscountType?
    /// One download of the app by one Apple Account.
    package let appTransactionId: String?
    /// ISO 8601 duration.
    package let offerPeriod: String?
    package let revocationType: RevocationType?
    /// In thousandths of a percent: 100000 is the whole price.
    package let revocationPercentage: Int32?
    package let billingPlanType: BillingPlanType?
    /// Only for monthly payments of a commitment.
    package let commitmentInfo: TransactionCommitmentInfo?
    /// Only for subscriptions with several seats, of which `quantity` is the number and `price` the average price.
    package let multiSeatInfo: TransactionMultiSeatInfo?
    /// `nil` when this transaction alone represents its period.
    package let additionalTransactionReason: AdditionalTransactionReason?
    /// The contract that a migration to Advanced Commerce replaced by this one; notifications only.
    package let previousOriginalTransactionId: String?
    /// Whether it was bought through the Advanced Commerce API. The content of `advancedCommerceInfo` is not decoded.
    package let isAdvancedCommerce: Bool
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case originalTransactionId, transactionId, webOrderLineItemId, bundleId, productId
        case subscriptionGroupIdentifier, purchaseDate, originalPurchaseDate, expiresDate, quantity, type
        case appAccountToken, inAppOwnershipType, signedDate, revocationReason, revocationDate, isUpgraded, offerType
        case offerIdentifier, environment, storefront, storefrontId, transactionReason, currency, price
        case offerDiscountType, appTransactionId, offerPeriod, revocationType, revocationPercentage
        case billingPlanType, commitmentInfo, multiSeatInfo, additionalTransactionReason, previousOriginalTransactionId
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        originalTransactionId = members.identifier(.originalTransactionId)
        transactionId = members.identifier(.transactionId)
        webOrderLineItemId = members.identifier(.webOrderLineItemId)
        bundleId = members.string(.bundleId)
        productId = members.string(.productId)
        subscriptionGroupIdentifier = members.identifier(.subscriptionGroupIdentifier)
        purchaseDate = members.timestamp(.purchaseDate)
        originalPurchaseDate = members.timestamp(.originalPurchaseDate)
        expiresDate = members.timestamp(.expiresDate)
        quantity = members.integer32(.quantity)
        type = members.value(.type)
        appAccountTokenText = members.string(.appAccountToken)
        appAccountToken = appAccountTokenText.flatMap { UUID(uuidString: $0) }
        inAppOwnershipType = members.value(.inAppOwnershipType)
        signedDate = members.timestamp(.signedDate)
        revocationReason = members.value(.revocationReason)
        revocationDate = members.timestamp(.revocationDate)
        isUpgraded = members.bool(.isUpgraded)
        offerType = members.value(.offerType)
        offerIdentifier = members.string(.offerIdentifier)
        environment = members.value(.environment)
        storefront = members.string(.storefront)
        storefrontId = members.identifier(.storefrontId)
        transactionReason = members.value(.transactionReason)
        currency = members.string(.currency)
        price = members.integer(.price)
        offerDiscountType = members.value(.offerDiscountType)
        appTransactionId = members.identifier(.appTransactionId)
        offerPeriod = members.string(.offerPeriod)
        revocationType = members.value(.revocationType)
        revocationPercentage = members.integer32(.revocationPercentage)
        billingPlanType = members.value(.billingPlanType)
        commitmentInfo = members.object(.commitmentInfo)
        multiSeatInfo = members.object(.multiSeatInfo)
        additionalTransactionReason = members.value(.additionalTransactionReason)
        previousOriginalTransactionId = members.identifier(.previousOriginalTransactionId)
        isAdvancedCommerce = (json["advancedCommerceInfo"] ?? .null) != .null
        odd = members.odd
        unknown = members.unknown
    }
}
