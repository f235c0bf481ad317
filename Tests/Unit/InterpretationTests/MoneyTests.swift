import AppStore
import Ledger
import SignedTesting
import StoreSimulator
import Testing

/// Grants and refunds come from the payload, whatever the type of the notification.
struct MoneyTests {
    @Test func `a subscription's grant is keyed by its period, another purchase's by its charge`() throws {
        let renewal = try SignedScene.facts(of: try SignedScene.trigger(NotificationKind(.didRenew)).notification())
        let period = try #require(renewal.transaction)
        #expect(
            renewal.effects.first?.key.subject == "\(period.originalTransactionID)/\(period.payload.webOrderLineItemId ?? "")"
        )

        let purchase = try SignedScene.facts(of: try SignedScene.trigger(NotificationKind(.oneTimeCharge)).notification())
        #expect(purchase.effects.first?.key.subject == purchase.transaction?.key.id)
        #expect(purchase.effects.first?.occurredAt == purchase.transaction?.purchaseDate)
    }

    @Test func `a refund also grants its purchase, and is keyed by purchase and date`() throws {
        let facts = try SignedScene.facts(of: try SignedScene.trigger(NotificationKind(.refund)).notification())
        let fact = try #require(facts.transaction)
        let revocationDate = try #require(fact.payload.revocationDate)
        #expect(facts.effects.map(\.key.kind) == [.granted, .refunded])
        #expect(facts.effects.last?.key.subject == "\(facts.effects[0].key.subject)/\(revocationDate.millisecondsSince1970)")
        #expect(facts.effects.last?.occurredAt == revocationDate)
    }

    @Test func `the end of family sharing is a revocation, not a refund`() throws {
        let facts = try SignedScene.facts(of: try SignedScene.trigger(NotificationKind(.revoke)).notification())
        #expect(facts.transaction?.isPurchased == false)
        #expect(facts.effects.map(\.key.kind) == [.granted, .revoked])
    }
}
