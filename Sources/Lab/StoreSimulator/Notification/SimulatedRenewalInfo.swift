package import AppStore
package import FoundationEssentials
package import StrictJSON

/// The store's state of a subscription's next renewal at one moment.
package struct SimulatedRenewalInfo: Hashable, Sendable {
    package var originalTransactionID: String
    /// The product of the next renewal.
    package var autoRenewProduct: SimulatedProduct
    /// The current product.
    package var productID: String
    package var autoRenews: Bool
    package var expirationIntent: ExpirationIntent?
    /// Nil if billing never failed: Apple leaves the member out then.
    package var isInBillingRetryPeriod: Bool?
    package var priceIncreaseStatus: PriceIncreaseStatus?
    package var gracePeriodExpiresDate: Timestamp?
    /// The offer of the next renewal.
    package var offer: SimulatedOffer?
    package var recentSubscriptionStartDate: Timestamp
    package var renewalDate: Timestamp
    /// The price of the next renewal, in thousandths of the currency unit; of several seats the average.
    package var renewalPrice: Int64?
    package var appAccountToken: UUID?
    package var appTransactionID: String
    package var advancedCommerce: AdvancedCommerceDetails?
    /// The seats of the next renewal (appstoreserverapi/renewalquantity).
    package var renewalQuantity: Int32?
    /// Nil unless the subscription renews with seats (appstoreservernotifications/renewalmultiseatinfo).
    package var renewalTiers: [SeatTier]?
    /// Nil unless a commitment runs.
    package var commitment: SimulatedRenewalCommitment?

    /// The payload that Apple would sign at `signedDate`.
    package func payload(of app: SimulatedApp, signedDate: Timestamp, shape: PayloadShape = .current) -> JSONObject {
        var json = JSONObject()
        json.add("expirationIntent", expirationIntent?.rawValue)
        json.add("originalTransactionId", originalTransactionID)
        json.add("autoRenewProductId", autoRenewProduct.id)
        json.add("productId", productID)
        json.add("autoRenewStatus", autoRenews ? 1 : 0)
        if shape == .current, let renewalPrice {
            json.add("renewalPrice", renewalPrice)
            json.add("currency", app.storefront.currency)
        }
        json.add("isInBillingRetryPeriod", isInBillingRetryPeriod)
        json.add("priceIncreaseStatus", priceIncreaseStatus?.rawValue)
        json.add("gracePeriodExpiresDate", gracePeriodExpiresDate)
        json.add("offerType", offer?.type.rawValue)
        json.add("offerIdentifier", offer?.identifier)
        json.add("signedDate", signedDate)
        if shape == .current { addLaterMembers(to: &json, of: app) }
        return json
    }

    private func addLaterMembers(to json: inout JSONObject, of app: SimulatedApp) {
        json.add("environment", app.environment.rawValue)
        json.add("recentSubscriptionStartDate", recentSubscriptionStartDate)
        json.add("renewalDate", renewalDate)
        json.add("offerDiscountType", offer?.discountType.rawValue)
        json.add("appAccountToken", appAccountToken)
        json.add("appTransactionId", appTransactionID)
        json.add("offerPeriod", offer?.period.iso8601)
        json.add("advancedCommerceInfo", advancedCommerce?.renewalInfo(price: renewalPrice ?? autoRenewProduct.price))
        json.add("renewalBillingPlanType", commitment == nil ? nil : BillingPlanType.monthly.rawValue)
        json.add("commitmentInfo", commitment?.payload)
        json.add("renewalQuantity", renewalQuantity)
        if let renewalTiers { json.add("multiSeatInfo", ["renewalPriceTiers": renewalTiers.payload] as JSONObject) }
    }
}
