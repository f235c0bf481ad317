/// What a notification V2 tells.
package struct NotificationTypeV2: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A subscription began, or began again after it had expired.
    package static let subscribed = NotificationTypeV2(rawValue: "SUBSCRIBED")
    /// The plan was changed, now or for the next renewal.
    package static let didChangeRenewalPref = NotificationTypeV2(rawValue: "DID_CHANGE_RENEWAL_PREF")
    /// Automatic renewal was turned on or off; access stays until the period ends.
    package static let didChangeRenewalStatus = NotificationTypeV2(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    /// An offer was redeemed on an active subscription.
    package static let offerRedeemed = NotificationTypeV2(rawValue: "OFFER_REDEEMED")
    /// A subscription renewed: a new transaction was charged.
    package static let didRenew = NotificationTypeV2(rawValue: "DID_RENEW")
    /// A subscription ended; the subtype says why.
    package static let expired = NotificationTypeV2(rawValue: "EXPIRED")
    /// A renewal could not be charged; Apple goes on trying.
    package static let didFailToRenew = NotificationTypeV2(rawValue: "DID_FAIL_TO_RENEW")
    /// The grace period ended without a charge.
    package static let gracePeriodExpired = NotificationTypeV2(rawValue: "GRACE_PERIOD_EXPIRED")
    /// The customer was told of a higher price, or has agreed to it.
    package static let priceIncrease = NotificationTypeV2(rawValue: "PRICE_INCREASE")
    /// A transaction was refunded.
    package static let refund = NotificationTypeV2(rawValue: "REFUND")
    /// A refund was declined; a refund may still follow.
    package static let refundDeclined = NotificationTypeV2(rawValue: "REFUND_DECLINED")
    /// A refund was undone; what it took is owed again.
    package static let refundReversed = NotificationTypeV2(rawValue: "REFUND_REVERSED")
    /// A customer asks for a refund, and Apple for facts within twelve hours.
    package static let consumptionRequest = NotificationTypeV2(rawValue: "CONSUMPTION_REQUEST")
    /// One subscription's renewal date was moved.
    package static let renewalExtended = NotificationTypeV2(rawValue: "RENEWAL_EXTENDED")
    /// Renewal dates of many subscriptions were moved: the result.
    package static let renewalExtension = NotificationTypeV2(rawValue: "RENEWAL_EXTENSION")
    /// A family member lost what another one shares.
    package static let revoke = NotificationTypeV2(rawValue: "REVOKE")
    /// A test that was asked for; it proves the pipe.
    package static let test = NotificationTypeV2(rawValue: "TEST")
    /// A token for purchases outside the App Store was made or is not reported.
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
}
