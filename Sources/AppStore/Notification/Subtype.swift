/// What a notification V2 tells more exactly; each type has its own few, see `NotificationMatrix`.
package struct Subtype: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The first purchase in the subscription group.
    package static let initialBuy = Subtype(rawValue: "INITIAL_BUY")
    /// A purchase after an earlier subscription of the group had expired.
    package static let resubscribe = Subtype(rawValue: "RESUBSCRIBE")
    /// To a higher level, at once.
    package static let upgrade = Subtype(rawValue: "UPGRADE")
    /// To a lower level, at the next renewal.
    package static let downgrade = Subtype(rawValue: "DOWNGRADE")
    /// The subscription will renew.
    package static let autoRenewEnabled = Subtype(rawValue: "AUTO_RENEW_ENABLED")
    /// The subscription will not renew; after a refund request too.
    package static let autoRenewDisabled = Subtype(rawValue: "AUTO_RENEW_DISABLED")
    /// The customer had turned renewal off.
    package static let voluntary = Subtype(rawValue: "VOLUNTARY")
    /// Apple gave up charging.
    package static let billingRetry = Subtype(rawValue: "BILLING_RETRY")
    /// The customer did not agree to a higher price.
    package static let priceIncrease = Subtype(rawValue: "PRICE_INCREASE")
    /// The product was no longer sold.
    package static let productNotForSale = Subtype(rawValue: "PRODUCT_NOT_FOR_SALE")
    /// Access goes on while Apple tries to charge.
    package static let gracePeriod = Subtype(rawValue: "GRACE_PERIOD")
    /// A charge that had failed succeeded.
    package static let billingRecovery = Subtype(rawValue: "BILLING_RECOVERY")
    /// The customer has not answered yet.
    package static let pending = Subtype(rawValue: "PENDING")
    /// The customer agreed, or needed not to.
    package static let accepted = Subtype(rawValue: "ACCEPTED")
    /// All subscriptions were processed; the payload has a `summary`.
    package static let summary = Subtype(rawValue: "SUMMARY")
    /// One subscription could not be extended.
    package static let failure = Subtype(rawValue: "FAILURE")
    /// Apple has no report for the token.
    package static let unreported = Subtype(rawValue: "UNREPORTED")
    /// The token was made.
    package static let created = Subtype(rawValue: "CREATED")
    /// The token still wants reports.
    package static let activeTokenReminder = Subtype(rawValue: "ACTIVE_TOKEN_REMINDER")
}
