package import FoundationEssentials
package import StrictJSON

/// One transaction: a charge, or a family member's share of one.
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
    /// Whether it was bought through the Advanced Commerce API. The content of `advancedCommerceInfo` is not decoded.
    package let isAdvancedCommerce: Bool

    package enum Member: String, CaseIterable {
        case originalTransactionId, transactionId, webOrderLineItemId, bundleId, productId
        case subscriptionGroupIdentifier, purchaseDate, originalPurchaseDate, expiresDate, quantity, type
        case appAccountToken, inAppOwnershipType, signedDate, revocationReason, revocationDate, isUpgraded, offerType
        case offerIdentifier, environment, storefront, storefrontId, transactionReason, currency, price
        case offerDiscountType, appTransactionId, offerPeriod, revocationType, revocationPercentage
        case billingPlanType
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        originalTransactionId = try members.identifier(.originalTransactionId)
        transactionId = try members.identifier(.transactionId)
        webOrderLineItemId = try members.identifier(.webOrderLineItemId)
        bundleId = try members.string(.bundleId)
        productId = try members.string(.productId)
        subscriptionGroupIdentifier = try members.identifier(.subscriptionGroupIdentifier)
        purchaseDate = try members.timestamp(.purchaseDate)
        originalPurchaseDate = try members.timestamp(.originalPurchaseDate)
        expiresDate = try members.timestamp(.expiresDate)
        quantity = try members.integer32(.quantity)
        type = try members.value(.type)
        appAccountToken = try members.uuid(.appAccountToken)
        appAccountTokenText = try members.string(.appAccountToken)
        inAppOwnershipType = try members.value(.inAppOwnershipType)
        signedDate = try members.timestamp(.signedDate)
        revocationReason = try members.value(.revocationReason)
        revocationDate = try members.timestamp(.revocationDate)
        isUpgraded = try members.bool(.isUpgraded)
        offerType = try members.value(.offerType)
        offerIdentifier = try members.string(.offerIdentifier)
        environment = try members.value(.environment)
        storefront = try members.string(.storefront)
        storefrontId = try members.identifier(.storefrontId)
        transactionReason = try members.value(.transactionReason)
        currency = try members.string(.currency)
        price = try members.integer(.price)
        offerDiscountType = try members.value(.offerDiscountType)
        appTransactionId = try members.identifier(.appTransactionId)
        offerPeriod = try members.string(.offerPeriod)
        revocationType = try members.value(.revocationType)
        revocationPercentage = try members.integer32(.revocationPercentage)
        billingPlanType = try members.value(.billingPlanType)
        isAdvancedCommerce = (json["advancedCommerceInfo"] ?? .null) != .null
    }
}
