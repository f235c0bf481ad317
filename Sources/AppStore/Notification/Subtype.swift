/// The subtype of a notification V2; see `NotificationMatrix` for the subtypes of each type.
package struct Subtype: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The first purchase in the subscription group.
    package static let initialBuy = Subtype(rawValue: "INITIAL_BUY")
    /// A purchase after an earlier subscription of the group had expired.
    package static let resubscribe = Subtype(rawValue: "RESUBSCRIBE")
    /// To a higher level, immediately.
    package static let upgrade = Subtype(rawValue: "UPGRADE")
    /// To a lower level, at the next renewal.
    package static let downgrade = Subtype(rawValue: "DOWNGRADE")
    /// More seats: added at once, or at the renewal if a reduction was undone.
    package static let increaseQuantity = Subtype(rawValue: "INCREASE_QUANTITY")
    /// Fewer seats, at the next renewal.
    package static let decreaseQuantity = Subtype(rawValue: "DECREASE_QUANTITY")
    /// Some seats of a transaction, not the whole transaction.
    package static let seats = Subtype(rawValue: "SEATS")
    /// The subscription will renew.
    package static let autoRenewEnabled = Subtype(rawValue: "AUTO_RENEW_ENABLED")
    /// The subscription will not renew; also sent after a refund request.
    package static let autoRenewDisabled = Subtype(rawValue: "AUTO_RENEW_DISABLED")
    /// The customer had turned renewal off.
    package static let voluntary = Subtype(rawValue: "VOLUNTARY")
    /// Apple gave up charging.
    package static let billingRetry = Subtype(rawValue: "BILLING_RETRY")
    /// The customer did not consent to a price increase.
    package static let priceIncrease = Subtype(rawValue: "PRICE_INCREASE")
    /// The product was no longer sold.
    package static let productNotForSale = Subtype(rawValue: "PRODUCT_NOT_FOR_SALE")
    /// Access continues while Apple retries the charge.
    package static let gracePeriod = Subtype(rawValue: "GRACE_PERIOD")
    /// A charge that had failed succeeded.
    package static let billingRecovery = Subtype(rawValue: "BILLING_RECOVERY")
    /// The customer has not responded yet.
    package static let pending = Subtype(rawValue: "PENDING")
    /// The customer consented, or no consent was needed.
    package static let accepted = Subtype(rawValue: "ACCEPTED")
    /// All subscriptions were processed; the payload has a `summary`.
    package static let summary = Subtype(rawValue: "SUMMARY")
    /// One subscription could not be extended.
    package static let failure = Subtype(rawValue: "FAILURE")
    /// Apple has no report for the token.
    package static let unreported = Subtype(rawValue: "UNREPORTED")
    /// The token was created.
    package static let created = Subtype(rawValue: "CREATED")
    /// The token still requires reports.
    package static let activeTokenReminder = Subtype(rawValue: "ACTIVE_TOKEN_REMINDER")

    package static let known = Set(NotificationMatrix.pairs.compactMap(\.subtype))
}
