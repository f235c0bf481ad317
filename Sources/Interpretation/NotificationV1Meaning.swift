package import AppStore
package import Ledger

/// What a type of notification V1 means for the ledger. Charges and refunds come from the receipt, whatever the type.
package struct NotificationV1Meaning: Sendable {
    package let type: NotificationTypeV1
    /// What may have happened beyond what the receipt says. The state of the renewal selects one of these; one effect for each content.
    package let lifecycle: [EffectKind]
    /// The meaning as text for operators.
    package let summary: String

    private init(_ type: NotificationTypeV1, _ lifecycle: [EffectKind], _ summary: String) {
        self.type = type
        self.lifecycle = lifecycle
        self.summary = summary
    }

    /// The meaning; nil for what Apple has not documented.
    package static func of(_ type: NotificationTypeV1?) -> NotificationV1Meaning? { type.flatMap { byType[$0] } }

    private static let byType = Dictionary(uniqueKeysWithValues: all.map { ($0.type, $0) })
}

extension NotificationV1Meaning {
    // swift-format-ignore
    /// Everything that Apple documents: a table to be read by columns.
    package static let all: [NotificationV1Meaning] = [
        //    type                     effects                                     what it means for the ledger
        .init(.initialBuy,             [],                                         "its order is paid, the contract begins"),
        .init(.didRenew,               [],                                         "an order of its own is paid"),
        .init(.interactiveRenewal,     [],                                         "an order is paid: renewed by hand, or another plan at once"),
        .init(.didRecover,             [],                                         "an order is paid, for a charge that had failed"),
        .init(.renewal,                [],                                         "the same, as it was called until 2021"),
        .init(.didFailToRenew,         [.gracePeriodStarted, .billingRetryStarted], "a charge failed: access stays for a grace period, or ends"),
        .init(.didChangeRenewalStatus, [.willRenew, .willNotRenew],                "renewal was turned on or off; access stays to the end"),
        .init(.didChangeRenewalPref,   [.planChanged],                             "another plan, at once or from the next renewal on"),
        .init(.priceIncreaseConsent,   [.consentAsked, .consentGiven],             "the customer is asked for consent to a higher price"),
        .init(.cancel,                 [],                                         "a subscription was refunded, or replaced by an upgrade"),
        .init(.refund,                 [],                                         "a charge was refunded"),
        .init(.revoke,                 [],                                         "family sharing ended: this member's access ends"),
        .init(.consumptionRequest,     [.consumptionAsked],                        "Apple asks before it decides on a refund: 12 hours"),
    ]
}
