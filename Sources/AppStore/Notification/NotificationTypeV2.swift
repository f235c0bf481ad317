/// The event that a notification V2 reports.
package struct NotificationTypeV2: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A subscription began, or began again after it had expired.
    package static let subscribed = NotificationTypeV2(rawValue: "SUBSCRIBED")
    /// The plan was changed, now or for the next renewal.
    package static let didChangeRenewalPref = NotificationTypeV2(rawValue: "DID_CHANGE_RENEWAL_PREF")
    /// Automatic renewal was turned on or off; access continues until the period ends.
    package static let didChangeRenewalStatus = NotificationTypeV2(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    /// An offer was redeemed on an active subscription.
    package static let offerRedeemed = NotificationTypeV2(rawValue: "OFFER_REDEEMED")
    /// A subscription renewed: a new transaction was charged.
    package static let didRenew = NotificationTypeV2(rawValue: "DID_RENEW")
    /// A subscription ended; the subtype says why.
    package static let expired = NotificationTypeV2(rawValue: "EXPIRED")
    /// A renewal could not be charged; Apple retries.
    package static let didFailToRenew = NotificationTypeV2(rawValue: "DID_FAIL_TO_RENEW")
    /// The grace period ended without a charge.
    package static let gracePeriodExpired = NotificationTypeV2(rawValue: "GRACE_PERIOD_EXPIRED")
    /// The customer was informed of a price increase, or consented to it.
    package static let priceIncrease = NotificationTypeV2(rawValue: "PRICE_INCREASE")
    /// A transaction was refunded.
    package static let refund = NotificationTypeV2(rawValue: "REFUND")
    /// A refund was declined; a refund may still follow.
    package static let refundDeclined = NotificationTypeV2(rawValue: "REFUND_DECLINED")
    /// A refund was reversed; the purchase counts again.
    package static let refundReversed = NotificationTypeV2(rawValue: "REFUND_REVERSED")
    /// A customer requests a refund, and Apple requests consumption data within twelve hours.
    package static let consumptionRequest = NotificationTypeV2(rawValue: "CONSUMPTION_REQUEST")
    /// One subscription's renewal date was moved.
    package static let renewalExtended = NotificationTypeV2(rawValue: "RENEWAL_EXTENDED")
    /// The result of moving the renewal dates of many subscriptions.
    package static let renewalExtension = NotificationTypeV2(rawValue: "RENEWAL_EXTENSION")
    /// A family member lost access to a shared purchase, or a member the seat of a group.
    package static let revoke = NotificationTypeV2(rawValue: "REVOKE")
    /// A test notification that the developer requested.
    package static let test = NotificationTypeV2(rawValue: "TEST")
    /// A token for purchases outside the App Store was created or is not reported.
    package static let externalPurchaseToken = NotificationTypeV2(rawValue: "EXTERNAL_PURCHASE_TOKEN")
    /// A consumable, non-consumable or non-renewing product was bought.
    package static let oneTimeCharge = NotificationTypeV2(rawValue: "ONE_TIME_CHARGE")
    /// A parent withdrew consent to the use of the app.
    package static let rescindConsent = NotificationTypeV2(rawValue: "RESCIND_CONSENT")
    /// Advanced Commerce: descriptions of a subscription changed.
    package static let metadataUpdate = NotificationTypeV2(rawValue: "METADATA_UPDATE")
    /// Advanced Commerce: a subscription was moved to it.
    package static let migration = NotificationTypeV2(rawValue: "MIGRATION")
    /// Advanced Commerce: the price of a subscription changed.
    package static let priceChange = NotificationTypeV2(rawValue: "PRICE_CHANGE")
    /// Apple gave back seats that the app's server had claimed for members of a group.
    package static let unclaimSeats = NotificationTypeV2(rawValue: "UNCLAIM_SEATS")

    package static let known = Set(NotificationMatrix.subtypes.keys)
}
