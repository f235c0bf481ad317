package import FoundationEssentials
package import StrictJSON

/// One purchase in verifyReceipt's answers and in notifications V1: an entry of `in_app` or of `latest_receipt_info`.
package struct ReceiptTransaction: PayloadObject {
    package let transactionID: String?
    /// The transaction of the first purchase; identifies the contract of a subscription.
    package let originalTransactionID: String?
    /// Identifies one period of a subscription.
    package let webOrderLineItemID: String?
    package let productID: String?
    package let quantity: Int64?
    package let purchaseDate: Timestamp?
    package let originalPurchaseDate: Timestamp?
    /// Subscriptions only.
    package let expiresDate: Timestamp?
    /// The date of a refund, a revocation or, with `isUpgraded`, an upgrade.
    package let cancellationDate: Timestamp?
    package let cancellationReason: RevocationReason?
    package let isUpgraded: Bool?
    package let isTrialPeriod: Bool?
    package let isInIntroOfferPeriod: Bool?
    package let promotionalOfferID: String?
    package let offerCodeRefName: String?
    package let subscriptionGroupIdentifier: String?
    package let inAppOwnershipType: InAppOwnershipType?
    /// The UUID that the app set at the purchase; nil for text that is not a UUID.
    package let appAccountToken: UUID?
    /// The text of `app_account_token`, UUID or not.
    package let appAccountTokenText: String?
    /// The bundle identifier; only in the single object of older notifications.
    package let bundleID: String?

    package enum Member: String, CaseIterable {
        case transactionID = "transaction_id"
        case originalTransactionID = "original_transaction_id"
        case webOrderLineItemID = "web_order_line_item_id"
        case productID = "product_id"
        case quantity
        case purchaseDate = "purchase_date"
        case originalPurchaseDate = "original_purchase_date"
        case expiresDate = "expires_date"
        case cancellationDate = "cancellation_date"
        case cancellationReason = "cancellation_reason"
        case isUpgraded = "is_upgraded"
        case isTrialPeriod = "is_trial_period"
        case isInIntroOfferPeriod = "is_in_intro_offer_period"
        case promotionalOfferID = "promotional_offer_id"
        case offerCodeRefName = "offer_code_ref_name"
        case subscriptionGroupIdentifier = "subscription_group_identifier"
        case inAppOwnershipType = "in_app_ownership_type"
        case appAccountToken = "app_account_token"
        case bundleID = "bid"
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = LooseMembers<Member>(json)
        transactionID = try members.text(.transactionID)
        originalTransactionID = try members.text(.originalTransactionID)
        webOrderLineItemID = try members.text(.webOrderLineItemID)
        productID = try members.text(.productID)
        quantity = try members.integer(.quantity)
        purchaseDate = try members.date(.purchaseDate)
        originalPurchaseDate = try members.date(.originalPurchaseDate)
        expiresDate = try members.date(.expiresDate)
        cancellationDate = try members.date(.cancellationDate)
        cancellationReason = try members.value(.cancellationReason)
        isUpgraded = try members.flag(.isUpgraded)
        isTrialPeriod = try members.flag(.isTrialPeriod)
        isInIntroOfferPeriod = try members.flag(.isInIntroOfferPeriod)
        promotionalOfferID = try members.text(.promotionalOfferID)
        offerCodeRefName = try members.text(.offerCodeRefName)
        subscriptionGroupIdentifier = try members.text(.subscriptionGroupIdentifier)
        inAppOwnershipType = try members.value(.inAppOwnershipType)
        appAccountToken = try members.uuid(.appAccountToken)
        appAccountTokenText = try members.text(.appAccountToken)
        bundleID = try members.text(.bundleID)
    }
}
