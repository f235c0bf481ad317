import AppStore
import FoundationEssentials
import Ledger
import SignedTesting
import StoreSimulator
import Testing

/// What is asked and decided of refunds, as notifications say it.
struct RefundStatementTests {
    @Test func `an ask is one for each notificationUUID, dated by its notification and not by the transaction in it`() throws {
        var trigger = SignedScene.trigger(NotificationKind(.consumptionRequest))
        trigger.productType = .consumable
        let request = try trigger.notification()
        let older = JSONValue.timestamp(SignedScene.now.advanced(by: .seconds(-7 * 86_400)))
        let facts = try SignedScene.facts(of: SignedScene.sign(request, transaction: { $0["signedDate"] = older }))
        let statement = try #require(facts.refundStatement)
        #expect(statement.key.uuid == request.notificationUUID)
        #expect(statement.kind == .asked)
        #expect(statement.transactionID == request.transactionID)
        #expect(statement.originalTransactionID == request.originalTransactionID)
        #expect(statement.reason == request.state?.consumptionRequestReason?.rawValue)
        #expect(statement.signedDate == request.signedDate)
    }

    @Test func `a decision has no reason of the customer's`() throws {
        let declined = try SignedScene.trigger(NotificationKind(.refundDeclined)).notification()
        let jws = try SignedScene.sign(declined, data: { $0["consumptionRequestReason"] = "UNINTENDED_PURCHASE" })
        #expect(try SignedScene.facts(of: jws).refundStatement?.reason == nil)
    }

    @Test func `without a transaction there is nothing to pay back`() throws {
        let request = try SignedScene.trigger(NotificationKind(.consumptionRequest)).notification()
        #expect(try SignedScene.facts(of: SignedScene.sign(request, data: { $0["signedTransactionInfo"] = nil })).refundStatement == nil)
    }
}
