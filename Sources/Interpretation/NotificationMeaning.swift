package import AppStore
package import Ledger

/// What a type and subtype mean for the ledger. Charges and refunds come from the payload, whatever the type: a REFUND may be the first
/// notification about a purchase.
package struct NotificationMeaning: Sendable {
    package let type: NotificationTypeV2
    package let subtype: Subtype?
    /// What happened beyond what the transaction itself says; one effect for each notificationUUID.
    package let lifecycle: EffectKind?
    /// The meaning as text for operators.
    package let summary: String

    private init(_ type: NotificationTypeV2, _ subtype: Subtype?, _ lifecycle: EffectKind?, _ summary: String) {
        self.type = type
        self.subtype = subtype
        self.lifecycle = lifecycle
        self.summary = summary
    }

    /// The meaning; nil for what Apple has not documented yet.
    package static func of(_ type: NotificationTypeV2?, _ subtype: Subtype?) -> NotificationMeaning? {
        guard let type else { return nil }
        if let subtype, NotificationMatrix.seatChanges.contains(subtype) { return byType[.didChangeRenewalPref]?[subtype] }
        return byType[type == migrate ? .migration : type]?[subtype]
    }

    /// What happened, as the status in the notification says: Apple has sent a grace period's subtype without one, and the reverse.
    package func lifecycle(beside status: Status?) -> EffectKind? {
        switch status {
        case .some(.billingGracePeriod) where type == .didFailToRenew: .gracePeriodStarted
        case .some(.billingRetry) where type == .didFailToRenew: .billingRetryStarted
        default: lifecycle
        }
    }

    /// The name of MIGRATION in a changelog of Apple's.
    private static let migrate = NotificationTypeV2(rawValue: "MIGRATE")

    private static let byType = Dictionary(grouping: all, by: \.type).mapValues { meanings in
        Dictionary(uniqueKeysWithValues: meanings.map { ($0.subtype, $0) })
    }
}

extension NotificationMeaning {
    // swift-format-ignore
    /// Everything that Apple documents or documented until 2024: a table to be read by columns.
    package static let all: [NotificationMeaning] = [
        //    type                     subtype               effect                  what it means for the ledger
        .init(.subscribed,             .initialBuy,          nil,                    "its order is paid, the contract begins"),
        .init(.subscribed,             .resubscribe,         nil,                    "its order is paid, the contract continues"),
        .init(.didRenew,               nil,                  nil,                    "an order of its own is paid"),
        .init(.didRenew,               .billingRecovery,     nil,                    "the same, for a charge that had failed"),
        .init(.oneTimeCharge,          nil,                  nil,                    "its order is paid; nothing renews"),
        .init(.offerRedeemed,          nil,                  .offerRedeemed,         "an offer on the running subscription"),
        .init(.offerRedeemed,          .upgrade,             .offerRedeemed,         "an offer on a higher plan, at once"),
        .init(.offerRedeemed,          .downgrade,           .offerRedeemed,         "an offer on a lower plan, from the next renewal on"),
        .init(.offerRedeemed,          .initialBuy,          .offerRedeemed,         "an offer at the first purchase; until 2024"),
        .init(.offerRedeemed,          .resubscribe,         .offerRedeemed,         "an offer at a purchase after the end; until 2024"),
        .init(.didChangeRenewalPref,   nil,                  .planChanged,           "the change of plan is cancelled"),
        .init(.didChangeRenewalPref,   .upgrade,             .planChanged,           "a higher plan, at once, as a charge of its own"),
        .init(.didChangeRenewalPref,   .downgrade,           .planChanged,           "a lower plan, from the next renewal on"),
        .init(.didChangeRenewalPref,   .increaseQuantity,    .seatsChanged,          "seats added at once, or a reduction was undone"),
        .init(.didChangeRenewalPref,   .decreaseQuantity,    .seatsChanged,          "fewer seats, from the next renewal on"),
        .init(.didChangeRenewalStatus, nil,                  nil,                    "renewal on or off, as the renewal info says"),
        .init(.didChangeRenewalStatus, .autoRenewEnabled,    .willRenew,             "it will renew"),
        .init(.didChangeRenewalStatus, .autoRenewDisabled,   .willNotRenew,          "it will not renew; access stays to the end"),
        .init(.didFailToRenew,         nil,                  .billingRetryStarted,   "a charge failed: access ends, Apple keeps trying"),
        .init(.didFailToRenew,         .gracePeriod,         .gracePeriodStarted,    "a charge failed: access stays for the grace period"),
        .init(.gracePeriodExpired,     nil,                  .gracePeriodEnded,      "access ends, Apple keeps trying to charge"),
        .init(.expired,                nil,                  .expired,               "the contract ended"),
        .init(.expired,                .voluntary,           .expired,               "it ended: the customer wanted no renewal"),
        .init(.expired,                .billingRetry,        .expired,               "it ended: it could not be charged"),
        .init(.expired,                .priceIncrease,       .expired,               "it ended: no consent to the higher price"),
        .init(.expired,                .productNotForSale,   .expired,               "it ended: its product is no longer sold"),
        .init(.priceIncrease,          .pending,             .consentAsked,          "the customer is asked for consent to a higher price"),
        .init(.priceIncrease,          .accepted,            .consentGiven,          "the customer agreed to a higher price, or need not be asked"),
        .init(.priceChange,            nil,                  .priceChanged,          "Advanced Commerce: the price changes"),
        .init(.renewalExtended,        nil,                  .extended,              "the period lasts longer"),
        .init(.renewalExtension,       .summary,             .extensionCompleted,    "the extension of many subscriptions is done"),
        .init(.renewalExtension,       .failure,             .extensionFailed,       "one of many subscriptions could not be extended"),
        .init(.consumptionRequest,     nil,                  .consumptionAsked,      "Apple asks before it decides on a refund: 12 hours"),
        .init(.refund,                 nil,                  nil,                    "paid back, as the transaction says"),
        .init(.refund,                 .seats,               nil,                    "some seats are paid back, as the transaction says"),
        .init(.refundDeclined,         nil,                  .refundDeclined,        "no refund; one may still follow"),
        .init(.refundReversed,         nil,                  .refundReversed,        "the refund is reversed: the purchase is granted again"),
        .init(.revoke,                 nil,                  nil,                    "family sharing ended: this member's access ends"),
        .init(.externalPurchaseToken,  .unreported,          .externalPurchaseToken, "a purchase outside the App Store is unreported"),
        .init(.externalPurchaseToken,  .created,             .externalPurchaseToken, "a token for outside purchases was created"),
        .init(.externalPurchaseToken,  .activeTokenReminder, .externalPurchaseToken, "a token for outside purchases still needs reports"),
        .init(.rescindConsent,         nil,                  .consentRescinded,      "a parent took back the consent to the app's use"),
        .init(.metadataUpdate,         nil,                  .metadataUpdated,       "Advanced Commerce: the product's metadata changed"),
        .init(.migration,              nil,                  .migrated,              "Advanced Commerce: the subscription moved there"),
        .init(.unclaimSeats,           nil,                  .seatsUnclaimed,        "Apple took back seats that you had given to members"),
        .init(.test,                   nil,                  nil,                    "a test: the delivery works"),
    ]
}
