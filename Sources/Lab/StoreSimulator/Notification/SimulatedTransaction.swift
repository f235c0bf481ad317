package import AppStore
package import FoundationEssentials
package import StrictJSON

/// The store's state of one charge at one moment.
package struct SimulatedTransaction: Hashable, Sendable {
    package var transactionID: String
    package var originalTransactionID: String
    /// The subscription period; nil for one-time charges.
    package var webOrderLineItemID: String?
    package var product: SimulatedProduct
    package var purchaseDate: Timestamp
    package var originalPurchaseDate: Timestamp
    /// Only subscriptions expire.
    package var expiresDate: Timestamp?
    /// Of a multiseat purchase the number of seats that it covers (appstoreserverapi/transactionmultiseatinfo).
    package var quantity: Int32 = 1
    package var appAccountToken: UUID?
    package var ownership: InAppOwnershipType = .purchased
    package var reason: TransactionReason = .purchase
    /// Thousandths of the storefront's currency unit; of a multiseat purchase the average of a seat. Nil for family members, who pay nothing.
    package var price: Int64?
    package var offer: SimulatedOffer?
    package var revocation: Revocation?
    /// Whether an upgrade has replaced it; it then appears in no further notification.
    package var isUpgraded = false
    /// The time of the upgrade, which receipts show as a cancellation.
    package var upgradedAt: Timestamp?
    package var appTransactionID: String
    package var advancedCommerce: AdvancedCommerceDetails?
    /// The contract before its migration to the Advanced Commerce API (appstoreservernotifications/previousoriginaltransactionid).
    package var previousOriginalTransactionID: String?
    /// Nil unless it is a multiseat purchase.
    package var seats: SimulatedSeats?
    /// Whether seats were added, so that several transactions are its period: additionalTransactionReason.
    package var hasSeatAddition = false
    /// Nil unless it pays a month of a commitment.
    package var commitment: SimulatedCommitment?

    /// A refund or a revocation.
    package struct Revocation: Hashable, Sendable {
        package var date: Timestamp
        package var reason: RevocationReason
        package var type: RevocationType
        /// Thousandths of a percent: 100,000 is everything. Nil if it gives no money back.
        package var percentage: Int32?

        /// Whether it gives money back. An unknown type gives none.
        package var isRefund: Bool { type == .refundFull || type == .refundProrated }

        /// A refund of everything.
        package static func refund(at date: Timestamp) -> Revocation {
            Revocation(date: date, reason: .refundedForOtherReason, type: .refundFull, percentage: 100_000)
        }
    }

    /// The payload that Apple would sign at `signedDate`.
    package func payload(of app: SimulatedApp, signedDate: Timestamp, shape: PayloadShape = .current) -> JSONObject {
        var json = JSONObject()
        json.add("transactionId", transactionID)
        json.add("originalTransactionId", originalTransactionID)
        json.add("webOrderLineItemId", webOrderLineItemID)
        json.add("bundleId", app.bundleID)
        json.add("productId", product.id)
        json.add("subscriptionGroupIdentifier", product.subscriptionGroupID)
        json.add("purchaseDate", purchaseDate)
        json.add("originalPurchaseDate", originalPurchaseDate)
        json.add("expiresDate", expiresDate)
        json.add("quantity", quantity)
        json.add("type", product.type.rawValue)
        json.add("appAccountToken", appAccountToken)
        json.add("inAppOwnershipType", ownership.rawValue)
        json.add("signedDate", signedDate)
        addRevocation(to: &json, shape: shape)
        if isUpgraded { json.add("isUpgraded", true) }
        json.add("offerType", offer?.type.rawValue)
        json.add("offerIdentifier", offer?.identifier)
        if shape == .current { addLaterMembers(to: &json, of: app) }
        return json
    }

    private func addRevocation(to json: inout JSONObject, shape: PayloadShape) {
        guard let revocation else { return }
        json.add("revocationReason", revocation.reason.rawValue)
        json.add("revocationDate", revocation.date)
        guard shape == .current else { return }
        json.add("revocationType", revocation.type.rawValue)
        json.add("revocationPercentage", revocation.percentage)
    }

    private func addLaterMembers(to json: inout JSONObject, of app: SimulatedApp) {
        json.add("environment", app.environment.rawValue)
        json.add("transactionReason", reason.rawValue)
        json.add("storefront", app.storefront.countryCode)
        json.add("storefrontId", app.storefront.id)
        json.add("price", price)
        json.add("currency", price == nil ? nil : app.storefront.currency)
        json.add("offerDiscountType", offer?.discountType.rawValue)
        json.add("appTransactionId", appTransactionID)
        json.add("offerPeriod", offer?.period.iso8601)
        json.add("advancedCommerceInfo", advancedCommerce?.transactionInfo(price: price ?? 0))
        json.add("billingPlanType", commitment == nil ? nil : BillingPlanType.monthly.rawValue)
        json.add("commitmentInfo", commitment?.payload)
        json.add("multiSeatInfo", seats?.payload)
        if hasSeatAddition { json.add("additionalTransactionReason", "SEAT_ADDITION") }
        json.add("previousOriginalTransactionId", previousOriginalTransactionID)
    }
}
