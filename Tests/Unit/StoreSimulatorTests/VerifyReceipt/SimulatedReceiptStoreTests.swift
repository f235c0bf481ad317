import AppStore
import StoreSimulator
import StrictJSON
import Testing

/// The replies of the simulated verifyReceipt.
struct SimulatedReceiptStoreTests {
    private static let receiptData = "TUlJIGEgcmVjZWlwdA=="
    private static let asked = Timestamp.testNow.advanced(byDays: 7)

    private func answer(_ app: SimulatedApp) throws -> VerifyReceiptAnswer {
        var life = SimulatedStore.test(app).customer()
        _ = try life.subscribe()
        let subscription = try #require(life.subscription)
        let receipt = SimulatedReceipt.receipt(of: app, holding: subscription.transactions, madeAt: life.now)
        var answer = VerifyReceiptAnswer(app: app, receipt: receipt, requestDate: life.now, transactions: subscription.transactions)
        answer.renewals = [subscription.renewalInfo]
        answer.latestReceipt = Self.receiptData
        return answer
    }

    private func store(
        _ app: SimulatedApp = .test,
        secrets: Set<String>? = ["secret"],
        script: VerifyReceiptScript = VerifyReceiptScript()
    ) throws -> SimulatedReceiptStore {
        var store = SimulatedReceiptStore(secrets: secrets.map { [app.bundleID: $0] } ?? [:])
        store.hold(try answer(app), for: Self.receiptData, script: script)
        return store
    }

    private func request(
        _ host: SimulatedReceiptHost = .production,
        receipt: String? = receiptData,
        password: String? = "secret"
    ) -> VerifyReceiptRequest {
        var json = JSONObject()
        json["receipt-data"] = receipt.map(JSONValue.string)
        json["password"] = password.map(JSONValue.string)
        return VerifyReceiptRequest(body: JSONSerializer.serialize(json), at: host)
    }

    private func response(_ reply: VerifyReceiptReply) throws -> VerifyReceiptResponse {
        #expect(reply.status == 200 && reply.manner == .atOnce)
        return try VerifyReceiptResponse(JSONParser().parseObject(reply.body))
    }

    private func status(_ store: SimulatedReceiptStore, _ request: VerifyReceiptRequest, isPosted: Bool = true) throws -> Int32? {
        var store = store
        return try response(store.reply(to: request, isPosted: isPosted, at: Self.asked)).status?.rawValue
    }

    @Test func `the answer about a known receipt has the time of the request`() throws {
        var store = try store()
        let response = try response(store.reply(to: request(), isPosted: true, at: Self.asked))
        #expect(response.status == .valid && response.environment == .production)
        #expect(response.receipt?.requestDate == Self.asked && response.receipt?.inApp.count == 1)
        #expect(response.latestReceiptInfo.count == 1 && response.pendingRenewalInfo.count == 1)
    }

    @Test func `each host refers to the other one for its receipts, before it checks the secret`() throws {
        for password in ["secret", "wrong"] {
            #expect(try status(store(.testSandbox), request(.production, password: password)) == 21007)
            #expect(try status(store(.test), request(.sandbox, password: password)) == 21008)
        }
        #expect(try status(store(.testSandbox), request(.sandbox)) == 0)
    }

    @Test func `a malformed request, or one about an unknown receipt, is refused`() throws {
        #expect(try status(store(), request(), isPosted: false) == 21000)
        #expect(try status(store(), request(receipt: nil)) == 21002)
        #expect(try status(store(), request(receipt: "")) == 21002)
        #expect(try status(store(), request(receipt: "no base64!")) == 21002)
        #expect(try status(store(), VerifyReceiptRequest(body: Array("{".utf8), at: .production)) == 21002)
        #expect(try status(store(), request(receipt: "dW5rbm93bg==")) == 21003)
    }

    @Test func `the secret must be one of the app's`() throws {
        #expect(try status(store(), request(password: "wrong")) == 21004)
        #expect(try status(store(), request(password: nil)) == 21004)
        #expect(try status(store(secrets: ["secret", "next"]), request(password: "next")) == 0)
    }

    @Test func `without a secret, the answer has only the content of the receipt`() throws {
        var store = try store(secrets: nil)
        let response = try response(store.reply(to: request(password: nil), isPosted: true, at: Self.asked))
        #expect(response.status == .valid && response.receipt?.inApp.count == 1)
        #expect(response.latestReceiptInfo == [] && response.pendingRenewalInfo == [] && response.latestReceipt == nil)
    }

    @Test func `a script has a step for each request, and repeats its last one`() throws {
        let script = VerifyReceiptScript([.status(.temporarilyUnavailable), .otherHost, .otherHost], last: .status(.accountNotFound))
        var store = try store(script: script)
        let hosts: [SimulatedReceiptHost] = [.production, .production, .sandbox, .production, .production]
        let statuses = try hosts.map { host in
            try response(store.reply(to: request(host), isPosted: true, at: Self.asked)).status?.rawValue
        }
        #expect(statuses == [21005, 21007, 21008, 21010, 21010])
    }

    @Test func `a step can be a reply that Apple's server never sends`() throws {
        let address = "https://example.com/"
        let script = VerifyReceiptScript([.page(), .redirect(to: address), .busy(retryAfter: "9"), .large(5000), .answer.by(.reset)])
        var store = try store(script: script)
        func next() -> VerifyReceiptReply { store.reply(to: request(), isPosted: true, at: Self.asked) }
        let page = next()
        #expect(page.status == 200 && page.headers.contains { $0.name == "content-type" && $0.value == "text/html" })
        let redirect = next()
        #expect(redirect.status == 302 && redirect.headers.contains { $0.name == "location" && $0.value == address })
        let busy = next()
        #expect(busy.status == 429 && busy.headers.contains { $0.name == "retry-after" && $0.value == "9" })
        let large = next()
        #expect(large.body.count == 5000)
        #expect(try VerifyReceiptResponse(JSONParser().parseObject(large.body)).status == .valid)
        #expect(next().manner == .reset)
    }

    @Test func `the description of a request has neither receipt nor secret`() {
        var dumped = ""
        dump(request(), to: &dumped)
        #expect(!"\(request()) \(dumped)".contains("secret") && !dumped.contains(Self.receiptData))
    }
}
