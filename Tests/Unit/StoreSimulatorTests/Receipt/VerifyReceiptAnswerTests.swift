import AppStore
import AppStoreVerification
import StoreSimulator
import StrictJSON
import Testing

/// The same purchases in a receipt, in verifyReceipt's answer and in a notification V1.
struct VerifyReceiptAnswerTests {
    private func subscriber(_ app: SimulatedApp = .testSandbox) throws -> CustomerLife {
        var life = SimulatedStore.test(app).customer()
        _ = try life.subscribe()
        for _ in 0..<3 { _ = try life.renew() }
        return life
    }

    private func answer(of life: CustomerLife) throws -> VerifyReceiptAnswer {
        let subscription = try #require(life.subscription)
        let receipt = SimulatedReceipt.receipt(of: life.app, holding: subscription.transactions, madeAt: life.now)
        var answer = VerifyReceiptAnswer(
            app: life.app,
            receipt: receipt,
            requestDate: life.now.advanced(by: .seconds(5)),
            transactions: subscription.transactions
        )
        answer.renewals = [subscription.renewalInfo]
        answer.latestReceipt = try ReceiptSigner(authority: GenuineReceipts.authority.get()).base64(receipt)
        return answer
    }

    @Test func `the answer about a receipt has the content of the receipt`() throws {
        let answer = try answer(of: subscriber())
        let response = try VerifyReceiptResponse(JSONParser().parseObject(JSONSerializer.serialize(answer.json)))
        #expect(response.status == .valid && response.environment == .sandbox)
        let content = try #require(response.receipt)
        #expect(content.creationDate == answer.receipt.creationDate && content.bundleID == answer.receipt.bundleID)
        #expect(content.receiptType == .productionSandbox && content.requestDate == answer.requestDate)
        #expect(content.inApp.count == 4 && content.inApp.count == answer.receipt.purchases.count)
        for (entry, held) in zip(content.inApp, answer.receipt.purchases) {
            #expect(entry.transactionID == held.transactionID && entry.originalTransactionID == held.originalTransactionID)
            #expect(entry.purchaseDate == held.purchaseDate && entry.expiresDate == held.expiresDate)
            #expect(entry.webOrderLineItemID == held.webOrderLineItemID && entry.quantity == held.quantity)
        }
        #expect(response.latestReceiptInfo.map(\.transactionID) == answer.transactions?.map(\.transactionID))
        #expect(response.pendingRenewalInfo.first?.autoRenewStatus == .on)
    }

    @Test func `the receipt in an answer is genuine and about the same purchases`() throws {
        let answer = try answer(of: subscriber(.test))
        let verdict = try GenuineReceipts.verifier().verify(try #require(answer.latestReceipt), receivedAt: .testNow.advanced(byDays: 999))
        guard case .valid(let verified) = verdict else {
            Issue.record("refused")
            return
        }
        #expect(verified.receipt.purchases == answer.receipt.purchases && verified.environment == .production)
    }

    @Test func `a notification V1 is parsed, and its secret is removed`() throws {
        var notification = SimulatedNotificationV1(type: .didRenew, password: "shared", answer: try answer(of: subscriber(.test)))
        notification.autoRenewStatusChangeDate = .testNow
        let body = try NotificationV1Body(JSONSerializer.serialize(notification.body))
        #expect(body.secrets == [Array("shared".utf8)] && body.kind == .notificationV1)
        let read = try ResponseBodyV1(JSONParser().parseObject(body.bytes))
        #expect(read.notificationType == .didRenew && read.environment == .production && read.bundleID == SimulatedApp.test.bundleID)
        #expect(read.originalTransactionID == nil && read.originalTransactionIDs.count == 1)
        #expect(read.transactions.count == 4 && read.receiptData == notification.answer.latestReceipt)
        #expect(read.autoRenewStatus == .on && read.autoRenewStatusChangeDate == .init(millisecondsSince1970: 1_774_944_000_000))
    }

    @Test func `refusals have only a status`() throws {
        let response = try VerifyReceiptResponse(VerifyReceiptAnswer.refusal(.init(rawValue: 21100), isRetryable: true))
        #expect(response.reaction == .retry(atMost: nil) && response.receipt == nil)
        #expect(try VerifyReceiptResponse(VerifyReceiptAnswer.refusal(.sandboxReceipt)).reaction == .askSandbox)
    }
}
