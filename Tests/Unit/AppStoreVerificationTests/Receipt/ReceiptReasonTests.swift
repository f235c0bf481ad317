import AppStore
import AppStoreVerification
import StoreSimulator
import Testing

struct ReceiptReasonTests {
    @Test(arguments: ReceiptCase.all)
    func `each invalid receipt is refused with its reason`(item: ReceiptCase) throws {
        let attempt = try item.attempt()
        let rejection = try #require(try TestReceipts.verify(attempt.input, attempt.policy).rejection)
        #expect(rejection.reason == item.reason, "\(rejection)")
        #expect(rejection.isRetryable == (item.reason == .signedInTheFuture))
    }

    @Test func `a rejection contains a genuine receipt but nothing of a forged one`() throws {
        var policy = try TestReceipts.policy()
        policy.apps = [App(bundleID: "com.example.other")]
        #expect(try TestReceipts.verify(TestReceipts.sign(), policy).rejection?.receipt == TestReceipts.receipt)
        var envelope = try TestReceipts.envelope()
        envelope.signature[0] ^= 1
        #expect(try TestReceipts.verify(envelope.encoded(), policy).rejection?.receipt == nil)
    }

    @Test func `a rejection names the place of an error but nothing of the content`() throws {
        var receipt = TestReceipts.receipt
        receipt.bundleID = nil
        receipt.otherAttributes = [ReceiptAttribute(type: 2, value: Array("secret".utf8))]
        let rejection = try #require(try TestReceipts.verify(TestReceipts.sign(receipt)).rejection)
        #expect(rejection.description.contains("bundle_id") && rejection.description.contains("at byte"))
        #expect(!rejection.description.contains("secret"))
    }
}
