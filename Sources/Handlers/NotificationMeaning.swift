import AppStore
import Ledger

/// What a type and subtype mean for a contract's life. Money is read from the payload instead, whatever the type: a REFUND may be the
/// first sight of a purchase.
struct NotificationMeaning: Sendable {
    /// What happened to the customer, beyond what the transaction itself says.
    let lifecycle: EffectKind?

    /// The meaning, or nil for what Apple has not documented yet.
    static func of(_ type: NotificationTypeV2?, _ subtype: Subtype?) -> NotificationMeaning? {
        type.flatMap { table[$0]?[subtype] }
    }

    private init(_ lifecycle: EffectKind?) {
        self.lifecycle = lifecycle
    }

    private static let facts = NotificationMeaning(nil)
    private static func happened(_ kind: EffectKind) -> NotificationMeaning { NotificationMeaning(kind) }

    private static let table: [NotificationTypeV2: [Subtype?: NotificationMeaning]] = [
        .subscribed: [.initialBuy: facts, .resubscribe: facts],
        .didRenew: [nil: facts, .billingRecovery: facts],
        .oneTimeCharge: [nil: facts],
        .offerRedeemed: [
            nil: happened(.offerRedeemed), .upgrade: happened(.offerRedeemed), .downgrade: happened(.offerRedeemed),
            .initialBuy: happened(.offerRedeemed), .resubscribe: happened(.offerRedeemed),
        ],
        .didChangeRenewalStatus: [
            .autoRenewEnabled: happened(.willRenew), .autoRenewDisabled: happened(.willNotRenew), nil: facts,
        ],
        .didChangeRenewalPref: [.upgrade: happened(.planChanged), .downgrade: happened(.planChanged), nil: happened(.planChanged)],
        .didFailToRenew: [nil: happened(.billingRetryStarted), .gracePeriod: happened(.gracePeriodStarted)],
        .gracePeriodExpired: [nil: happened(.gracePeriodEnded)],
        .expired: [
            .voluntary: happened(.expired), .billingRetry: happened(.expired), .priceIncrease: happened(.expired),
            .productNotForSale: happened(.expired), nil: happened(.expired),
        ],
        .priceIncrease: [.pending: happened(.consentAsked), .accepted: happened(.consentGiven)],
        .renewalExtended: [nil: happened(.extended)],
        .renewalExtension: [.summary: facts, .failure: facts],
        .consumptionRequest: [nil: happened(.consumptionAsked)],
        .refund: [nil: facts],
        .refundDeclined: [nil: happened(.refundDeclined)],
        .refundReversed: [nil: happened(.refundReversed)],
        .revoke: [nil: facts],
        .externalPurchaseToken: [.unreported: facts, .created: facts, .activeTokenReminder: facts],
        .rescindConsent: [nil: facts],
        .metadataUpdate: [nil: facts],
        .migration: [nil: facts],
        NotificationTypeV2(rawValue: "MIGRATE"): [nil: facts],  // a changelog of Apple's calls it so
        .priceChange: [nil: facts],
        .test: [nil: facts],
    ]
}
