import AppStore
import StoreSimulator
import StrictJSON
import Testing

struct ReceiptStoreTests {
    private static let additions = ["latest_receipt_info", "latest_receipt", "pending_renewal_info"]

    /// The members of the answer about a receipt of a customer, which Apple does not give for each receipt.
    private func additions(_ secrets: [String: Set<String>], _ purchase: (inout CustomerLife) throws -> Void) throws -> [String] {
        let app = SimulatedApp.test
        var customers = SimulatedStore.test()
        var life = customers.makeCustomer()
        try purchase(&life)
        let transactions = (life.subscription?.transactions ?? []) + life.oneTimeCharges
        let receipt = SimulatedReceipt.receipt(of: app, holding: transactions, madeAt: life.now)
        var answer = VerifyReceiptAnswer(app: app, receipt: receipt, requestDate: life.now, transactions: transactions)
        answer.renewals = [life.subscription?.renewalInfo].compactMap(\.self)
        answer.latestReceipt = "TmV3ZXN0"
        var store = SimulatedReceiptStore(secrets: secrets)
        store.hold(answer, for: "UmVjZWlwdA==")
        let request: JSONObject = ["receipt-data": "UmVjZWlwdA==", "password": "secret"]
        let body = JSONSerializer.serialize(request)
        let reply = store.reply(to: VerifyReceiptRequest(body: body, at: .production), isPosted: true, at: life.now)
        let json = try JSONParser().parseObject(reply.body)
        #expect(json["status"] == 0)
        return Self.additions.filter { json[$0] != nil }
    }

    @Test func `an answer has the newest transactions only of a receipt with a subscription, and for an app with a secret`() throws {
        let secrets: [String: Set<String>] = [SimulatedApp.test.bundleID: ["secret"]]
        let lifetime = SimulatedProduct.oneTime("lifetime", .nonConsumable, price: 99_990)
        #expect(try additions(secrets) { _ = try $0.subscribe() } == Self.additions)
        #expect(try additions(secrets) { _ = try $0.buy(lifetime) } == [])
        #expect(try additions([:]) { _ = try $0.subscribe() } == [])
    }
}
