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
    package let odd: [MalformedPayload]

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

    package init(decoding json: JSONObject) {
        var members = LooseMembers<Member>(json)
        originalTransactionID = members.text(.originalTransactionID)
        productID = members.text(.productID)
        autoRenewProductID = members.text(.autoRenewProductID)
        autoRenewStatus = members.flag(.autoRenewStatus).map { $0 ? .on : .off }
        isInBillingRetryPeriod = members.flag(.isInBillingRetryPeriod)
        expirationIntent = members.value(.expirationIntent)
        gracePeriodExpiresDate = members.date(.gracePeriodExpiresDate)
        priceConsentStatus = members.value(.priceConsentStatus)
        priceIncreaseStatus = members.value(.priceIncreaseStatus)
        promotionalOfferID = members.text(.promotionalOfferID)
        offerCodeRefName = members.text(.offerCodeRefName)
        odd = members.odd
    }
}
