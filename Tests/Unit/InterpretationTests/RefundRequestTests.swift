import AppStore
import FoundationEssentials
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// The refund requests and decisions in notifications.
struct RefundRequestTests {
    @Test func `each notificationUUID is one request, with the date of the notification, not of its transaction`() throws {
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

    @Test func `a decision has no customer's reason`() throws {
        let declined = try SignedScene.trigger(NotificationKind(.refundDeclined)).notification()
        let jws = try SignedScene.sign(declined, data: { $0["consumptionRequestReason"] = "UNINTENDED_PURCHASE" })
        #expect(try SignedScene.facts(of: jws).refundStatement?.reason == nil)
    }

    @Test func `without a transaction there is no refund request`() throws {
        let request = try SignedScene.trigger(NotificationKind(.consumptionRequest)).notification()
        #expect(try SignedScene.facts(of: SignedScene.sign(request, data: { $0["signedTransactionInfo"] = nil })).refundStatement == nil)
    }
}
