package import StrictJSON

/// The state of one subscription's renewal: an entry of `pending_renewal_info` in verifyReceipt's answers and in notifications V1.
package struct PendingRenewalInfo: PayloadObject {
    package let originalTransactionID: String?
    /// The current product.
    package let productID: String?
    /// The product of the next renewal.
    package let autoRenewProductID: String?
    package let autoRenewStatus: AutoRenewStatus?
    package let isInBillingRetryPeriod: Bool?
    package let expirationIntent: ExpirationIntent?
    package let gracePeriodExpiresDate: Timestamp?
    /// Whether the customer consented to a price increase, until 2022.
    package let priceConsentStatus: PriceIncreaseStatus?
    /// The same since 2022.
    package let priceIncreaseStatus: PriceIncreaseStatus?
    package let promotionalOfferID: String?
    package let offerCodeRefName: String?

    package enum Member: String, CaseIterable {
        case originalTransactionID = "original_transaction_id"
        case productID = "product_id"
        case autoRenewProductID = "auto_renew_product_id"
        case autoRenewStatus = "auto_renew_status"
        case isInBillingRetryPeriod = "is_in_billing_retry_period"
        case expirationIntent = "expiration_intent"
        case gracePeriodExpiresDate = "grace_period_expires_date"
        case priceConsentStatus = "price_consent_status"
        case priceIncreaseStatus = "price_increase_status"
        case promotionalOfferID = "promotional_offer_id"
        case offerCodeRefName = "offer_code_ref_name"
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = LooseMembers<Member>(json)
        originalTransactionID = try members.text(.originalTransactionID)
        productID = try members.text(.productID)
        autoRenewProductID = try members.text(.autoRenewProductID)
        autoRenewStatus = try members.flag(.autoRenewStatus).map { $0 ? .on : .off }
        isInBillingRetryPeriod = try members.flag(.isInBillingRetryPeriod)
        expirationIntent = try members.value(.expirationIntent)
        gracePeriodExpiresDate = try members.date(.gracePeriodExpiresDate)
        priceConsentStatus = try members.value(.priceConsentStatus)
        priceIncreaseStatus = try members.value(.priceIncreaseStatus)
        promotionalOfferID = try members.text(.promotionalOfferID)
        offerCodeRefName = try members.text(.offerCodeRefName)
    }
}
