import AppStore
import FoundationEssentials
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

@testable import Interpretation

/// The effect of each type and subtype, as one table to compare with Apple's.
struct MeaningTests {
    /// The effects other than grants and refunds, by type and subtype; other kinds have none.
    static let lifecycle: [String: EffectKind] = [
        "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED": .willRenew, "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED": .willNotRenew,
        "DID_CHANGE_RENEWAL_PREF": .planChanged, "DID_CHANGE_RENEWAL_PREF/UPGRADE": .planChanged,
        "DID_CHANGE_RENEWAL_PREF/DOWNGRADE": .planChanged, "OFFER_REDEEMED": .offerRedeemed, "OFFER_REDEEMED/UPGRADE": .offerRedeemed,
        "OFFER_REDEEMED/DOWNGRADE": .offerRedeemed, "OFFER_REDEEMED/INITIAL_BUY": .offerRedeemed,
        "OFFER_REDEEMED/RESUBSCRIBE": .offerRedeemed, "DID_FAIL_TO_RENEW": .billingRetryStarted,
        "DID_FAIL_TO_RENEW/GRACE_PERIOD": .gracePeriodStarted, "GRACE_PERIOD_EXPIRED": .gracePeriodEnded, "EXPIRED": .expired,
        "EXPIRED/VOLUNTARY": .expired, "EXPIRED/BILLING_RETRY": .expired, "EXPIRED/PRICE_INCREASE": .expired,
        "EXPIRED/PRODUCT_NOT_FOR_SALE": .expired, "PRICE_INCREASE/PENDING": .consentAsked, "PRICE_INCREASE/ACCEPTED": .consentGiven,
        "RENEWAL_EXTENDED": .extended, "CONSUMPTION_REQUEST": .consumptionAsked, "REFUND_DECLINED": .refundDeclined,
        "REFUND_REVERSED": .refundReversed, "DID_CHANGE_RENEWAL_PREF/INCREASE_QUANTITY": .seatsChanged,
        "DID_CHANGE_RENEWAL_PREF/DECREASE_QUANTITY": .seatsChanged, "UNCLAIM_SEATS": .seatsUnclaimed, "RESCIND_CONSENT": .consentRescinded,
        "EXTERNAL_PURCHASE_TOKEN/UNREPORTED": .externalPurchaseToken, "EXTERNAL_PURCHASE_TOKEN/CREATED": .externalPurchaseToken,
        "EXTERNAL_PURCHASE_TOKEN/ACTIVE_TOKEN_REMINDER": .externalPurchaseToken, "PRICE_CHANGE": .priceChanged,
        "METADATA_UPDATE": .metadataUpdated, "MIGRATION": .migrated, "RENEWAL_EXTENSION/SUMMARY": .extensionCompleted,
        "RENEWAL_EXTENSION/FAILURE": .extensionFailed,
    ]

    /// The refund requests by type; other types have none.
    static let refunds: [String: RefundRequestFact.Kind] = [
        "CONSUMPTION_REQUEST": .asked, "REFUND": .refunded, "REFUND/SEATS": .refunded, "REFUND_DECLINED": .declined,
        "REFUND_REVERSED": .reversed,
    ]

    @Test func `the table has each documented kind once`() {
        let table = NotificationMeaning.all.map { NotificationKind($0.type, $0.subtype) }
        #expect(Set(table) == Set(NotificationMatrix.pairs.map { NotificationKind($0.type, $0.subtype) }))
        #expect(Set(table).count == table.count)
    }

    @Test(arguments: NotificationMatrix.pairs.map { NotificationKind($0.type, $0.subtype) })
    func `every documented kind is handled, with the effect of the table`(kind: NotificationKind) throws {
        let notification = try SignedScene.trigger(kind).notification()
        let facts = try SignedScene.facts(of: notification)
        #expect(facts.unhandledReason == nil)
        #expect(facts.notificationUUID == notification.notificationUUID)
        #expect((facts.transaction != nil) == (notification.transaction != nil))
        #expect((facts.subscription != nil) == (notification.renewalInfo != nil || notification.status != nil))

        #expect(facts.refundStatement?.kind == Self.refunds[kind.description])

        let money: Set<EffectKind> = [.granted, .refunded, .seatsRefunded, .revoked]
        let other = facts.effects.filter { !money.contains($0.key.kind) }
        #expect(other.map(\.key.kind) == [Self.lifecycle[kind.description]].compactMap(\.self))
        #expect(other.allSatisfy { $0.key.subject == facts.notificationUUID?.uuidString.lowercased() && $0.occurredAt == SignedScene.now })
        #expect(facts.effects.contains { $0.key.kind == .granted } == (notification.transaction != nil))
    }

    @Test func `a type that a changelog names differently has the same meaning`() throws {
        let migration = try SignedScene.trigger(NotificationKind(.migration)).notification()
        let facts = try SignedScene.facts(of: SignedScene.sign(migration, outer: { $0["notificationType"] = "MIGRATE" }))
        #expect(facts.unhandledReason == nil)
        #expect(facts.transaction != nil)
        #expect(facts.effects.map(\.key.kind) == [.granted, .migrated])
    }

    @Test(arguments: ["DID_RENEW", "SUBSCRIBED", "SEATS_CHANGED"], [Subtype.increaseQuantity, .decreaseQuantity])
    func `a change of seats means the same with any type: Apple does not say which has it`(type: String, subtype: Subtype) throws {
        var trigger = SignedScene.trigger(NotificationKind(NotificationTypeV2(rawValue: type), subtype))
        trigger.allowsUnknownKinds = true
        let facts = try SignedScene.facts(of: trigger.notification())
        #expect(facts.unhandledReason == nil)
        #expect(facts.effects.map(\.key.kind) == [.granted, .seatsChanged])
    }
}
