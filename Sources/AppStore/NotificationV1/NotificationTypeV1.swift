/// The event that a notification V1 reports.
package struct NotificationTypeV1: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A subscription was bought for the first time.
    package static let initialBuy = NotificationTypeV1(rawValue: "INITIAL_BUY")
    /// A subscription renewed.
    package static let didRenew = NotificationTypeV1(rawValue: "DID_RENEW")
    /// A customer renewed manually, after an expiry or with another plan.
    package static let interactiveRenewal = NotificationTypeV1(rawValue: "INTERACTIVE_RENEWAL")
    /// A renewal that had failed was charged.
    package static let didRecover = NotificationTypeV1(rawValue: "DID_RECOVER")
    /// The name of ``didRecover`` until 2021.
    package static let renewal = NotificationTypeV1(rawValue: "RENEWAL")
    /// A renewal could not be charged.
    package static let didFailToRenew = NotificationTypeV1(rawValue: "DID_FAIL_TO_RENEW")
    /// Automatic renewal was turned on or off.
    package static let didChangeRenewalStatus = NotificationTypeV1(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    /// The plan of the next renewal was changed.
    package static let didChangeRenewalPref = NotificationTypeV1(rawValue: "DID_CHANGE_RENEWAL_PREF")
    /// The customer was asked to consent to a price increase.
    package static let priceIncreaseConsent = NotificationTypeV1(rawValue: "PRICE_INCREASE_CONSENT")
    /// Apple support refunded a subscription, or an upgrade replaced it.
    package static let cancel = NotificationTypeV1(rawValue: "CANCEL")
    /// A transaction was refunded.
    package static let refund = NotificationTypeV1(rawValue: "REFUND")
    /// A family member lost access to a shared purchase.
    package static let revoke = NotificationTypeV1(rawValue: "REVOKE")
    /// A customer requests a refund of a consumable, and Apple requests consumption data within twelve hours.
    package static let consumptionRequest = NotificationTypeV1(rawValue: "CONSUMPTION_REQUEST")

    /// The types that Apple documents; other types are not invalid.
    package static let documented: [NotificationTypeV1] = [
        .initialBuy, .didRenew, .interactiveRenewal, .didRecover, .renewal, .didFailToRenew, .didChangeRenewalStatus,
        .didChangeRenewalPref, .priceIncreaseConsent, .cancel, .refund, .revoke, .consumptionRequest,
    ]

    package static let known = Set(documented)
}
