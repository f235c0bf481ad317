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

/// The subtypes that Apple documents for each type of notification V2.
///
/// A notification outside the table is not invalid: Apple adds types and subtypes without notice.
package enum NotificationMatrix {
    /// The documented subtypes of each documented type; `nil` stands for a notification without a subtype.
    package static let subtypes: [NotificationTypeV2: Set<Subtype?>] = [
        .subscribed: [.initialBuy, .resubscribe],
        // Apple names the two subtypes about seats without their type; see seatChanges.
        .didChangeRenewalPref: [.upgrade, .downgrade, .increaseQuantity, .decreaseQuantity, nil],
        .didChangeRenewalStatus: [.autoRenewEnabled, .autoRenewDisabled, nil],
        .offerRedeemed: [.upgrade, .downgrade, nil],
        .didRenew: [.billingRecovery, nil],
        .expired: [.voluntary, .billingRetry, .priceIncrease, .productNotForSale, nil],
        .didFailToRenew: [.gracePeriod, nil],
        .gracePeriodExpired: [nil],
        .priceIncrease: [.pending, .accepted],
        .refund: [.seats, nil],
        .refundDeclined: [nil],
        .refundReversed: [nil],
        .consumptionRequest: [nil],
        .renewalExtended: [nil],
        .renewalExtension: [.summary, .failure],
        .revoke: [nil],
        .test: [nil],
        .externalPurchaseToken: [.unreported, .created, .activeTokenReminder],
        .oneTimeCharge: [nil],
        .rescindConsent: [nil],
        .metadataUpdate: [nil],
        .migration: [nil],
        .priceChange: [nil],
        .unclaimSeats: [nil],
    ]

    /// Subtypes whose type Apple does not say (appstoreservernotifications/renewalquantity): they mean the same with any.
    package static let seatChanges: Set<Subtype> = [.increaseQuantity, .decreaseQuantity]

    /// Subtypes that Apple sent until 2024-01-23; old notifications still have them.
    package static let retiredSubtypes: [NotificationTypeV2: Set<Subtype?>] = [
        .offerRedeemed: [.initialBuy, .resubscribe]
    ]

    /// Every documented pair, including the retired ones, in the order of the raw values.
    package static let pairs: [(type: NotificationTypeV2, subtype: Subtype?)] = {
        let current = subtypes.flatMap { type, subtypes in subtypes.map { (type: type, subtype: $0) } }
        let retired = retiredSubtypes.flatMap { type, subtypes in subtypes.map { (type: type, subtype: $0) } }
        return (current + retired).sorted { left, right in
            (left.type.rawValue, left.subtype?.rawValue ?? "") < (right.type.rawValue, right.subtype?.rawValue ?? "")
        }
    }()
}
