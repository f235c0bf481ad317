import AppStore
import FoundationEssentials
import Ledger
import SignedTesting
import StrictJSON
import Testing

@testable import Interpretation

/// The effect of each type of notification V1, as one table to compare with Apple's.
struct NotificationV1MeaningTests {
    /// Each type with a state of the renewal, and the effect; other types have no effects beyond the receipt's.
    static let effects: [(type: NotificationTypeV1, state: [String: JSONValue], effect: EffectKind?)] = [
        (.initialBuy, [:], nil), (.didRenew, [:], nil), (.interactiveRenewal, [:], nil), (.didRecover, [:], nil), (.renewal, [:], nil),
        (.cancel, [:], nil), (.refund, [:], nil), (.revoke, [:], nil), (.consumptionRequest, [:], .consumptionAsked),
        (.didChangeRenewalPref, [:], .planChanged),
        (.didFailToRenew, ["is_in_billing_retry_period": "1"], .billingRetryStarted),
        (.didFailToRenew, ["is_in_billing_retry_period": "1", "grace_period_expires_date_ms": "1800000000000"], .gracePeriodStarted),
        (.didChangeRenewalStatus, ["auto_renew_status": "true"], .willRenew),
        (.didChangeRenewalStatus, ["auto_renew_status": "false"], .willNotRenew),
        (.didChangeRenewalStatus, ["auto_renew_status": true], .willRenew),
        (.didChangeRenewalStatus, ["auto_renew_status": "0"], .willNotRenew),
        (.priceIncreaseConsent, ["price_consent_status": "0"], .consentAsked),
        (.priceIncreaseConsent, ["price_consent_status": 1], .consentGiven), (.priceIncreaseConsent, [:], .consentAsked),
    ]

    @Test func `the table has the 13 types that Apple documents, each once`() {
        let types = NotificationV1Meaning.all.map(\.type)
        #expect(types.count == 13 && Set(types) == Set(NotificationTypeV1.documented))
        #expect(Set(Self.effects.map(\.type)) == Set(types))
        for row in NotificationV1Meaning.all {
            let told = Set(Self.effects.filter { $0.type == row.type }.compactMap(\.effect))
            #expect(told == Set(row.lifecycle), "\(row.type.rawValue)")
        }
    }

    /// In the outer members, like older versions of the format.
    @Test(arguments: effects.indices)
    func `each type has its effect, from the outer members`(row: Int) throws {
        let (type, state, effect) = Self.effects[row]
        let facts = try SignedScene.facts(
            ofV1: LegacyFixture().notification(type) { body in
                body.change("unified_receipt") { $0["pending_renewal_info"] = nil }
                body["auto_renew_status"] = nil
                for (name, value) in state { body[name] = value }
            }
        )
        try expect(facts, effect)
    }

    @Test(arguments: effects.indices)
    func `each type has its effect, from the unified receipt`(row: Int) throws {
        let (type, state, effect) = Self.effects[row]
        let facts = try SignedScene.facts(
            ofV1: LegacyFixture().notification(type) { body in
                body["auto_renew_status"] = nil
                body.change("unified_receipt") { unified in
                    unified.changeEach("pending_renewal_info") { renewal in
                        for (name, value) in state { renewal[name] = value }
                    }
                }
            }
        )
        try expect(facts, effect)
    }

    private func expect(_ facts: EventFacts, _ effect: EffectKind?) throws {
        #expect(facts.unhandledReason == nil)
        #expect(facts.others.map(\.key.kind) == [effect].compactMap(\.self))
        #expect(
            facts.others.allSatisfy {
                $0.key.subject == facts.notificationUUID?.uuidString.lowercased() && $0.occurredAt == SignedScene.now
            }
        )
        #expect(facts.others.allSatisfy { $0.originalTransactionID == facts.receipts.first?.originalTransactionID && $0.productID != nil })
        #expect(facts.receipts.count == 3 && facts.money.count == 3)
    }

    @Test func `an unknown type is unhandled, but has its facts`() throws {
        let facts = try SignedScene.facts(ofV1: LegacyFixture().notification(NotificationTypeV1(rawValue: "GIFT_WRAPPED")))
        #expect(facts.unhandledReason == "unknown_notification")
        #expect(facts.receipts.count == 3 && facts.legacyRenewals.count == 1 && facts.others.isEmpty && facts.refundStatement == nil)
    }

    @Test func `equal content is the same notification, however it is formatted`() throws {
        let fixture = try LegacyFixture()
        let once = try fixture.notification(.didRenew)
        var again = JSONObject(once.members.reversed().map { ($0.name, $0.value) })
        again["password"] = "another"
        let uuids = try [once, again, fixture.notification(.renewal)].map { try SignedScene.facts(ofV1: $0).notificationUUID }
        #expect(uuids[0] == uuids[1] && uuids[0] != uuids[2])
        #expect(uuids.allSatisfy { $0.map { $0.uuid.6 >> 4 } == 5 })
    }
}
