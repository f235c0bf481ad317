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
