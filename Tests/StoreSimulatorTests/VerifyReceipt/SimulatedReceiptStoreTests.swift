import AppStore
import StoreSimulator
import Testing

/// What the make-believe verifyReceipt says to a question.
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

    private func question(
        _ host: SimulatedReceiptHost = .production,
        receipt: String? = receiptData,
        password: String? = "secret"
    ) -> VerifyReceiptQuestion {
        var json = JSONObject()
        json["receipt-data"] = receipt.map(JSONValue.string)
        json["password"] = password.map(JSONValue.string)
        return VerifyReceiptQuestion(body: JSONSerializer.serialize(json), at: host)
    }

    private func response(_ reply: VerifyReceiptReply) throws -> VerifyReceiptResponse {
        #expect(reply.status == 200 && reply.manner == .atOnce)
        return try VerifyReceiptResponse(JSONParser().parseObject(reply.body))
    }

    private func status(_ store: SimulatedReceiptStore, _ question: VerifyReceiptQuestion, isPosted: Bool = true) throws -> Int32? {
        var store = store
        return try response(store.reply(to: question, isPosted: isPosted, at: Self.asked)).status?.rawValue
    }

    @Test func `a receipt that it holds is answered about, as of the time of the question`() throws {
        var store = try store()
        let response = try response(store.reply(to: question(), isPosted: true, at: Self.asked))
        #expect(response.status == .valid && response.environment == .production)
        #expect(response.receipt?.requestDate == Self.asked && response.receipt?.inApp.count == 1)
        #expect(response.latestReceiptInfo.count == 1 && response.pendingRenewalInfo.count == 1)
    }

    @Test func `each host names the other one for the other one's receipts, before it looks at the secret`() throws {
        for password in ["secret", "wrong"] {
            #expect(try status(store(.testSandbox), question(.production, password: password)) == 21007)
            #expect(try status(store(.test), question(.sandbox, password: password)) == 21008)
        }
        #expect(try status(store(.testSandbox), question(.sandbox)) == 0)
    }

    @Test func `a question that is none, or that is about nothing, is refused`() throws {
        #expect(try status(store(), question(), isPosted: false) == 21000)
        #expect(try status(store(), question(receipt: nil)) == 21002)
        #expect(try status(store(), question(receipt: "")) == 21002)
        #expect(try status(store(), question(receipt: "no base64!")) == 21002)
        #expect(try status(store(), VerifyReceiptQuestion(body: Array("{".utf8), at: .production)) == 21002)
        #expect(try status(store(), question(receipt: "dW5rbm93bg==")) == 21003)
    }

    @Test func `the secret has to be one of the app's`() throws {
        #expect(try status(store(), question(password: "wrong")) == 21004)
        #expect(try status(store(), question(password: nil)) == 21004)
        #expect(try status(store(secrets: ["secret", "next"]), question(password: "next")) == 0)
    }

    @Test func `without a secret there is only what the receipt holds`() throws {
        var store = try store(secrets: nil)
        let response = try response(store.reply(to: question(password: nil), isPosted: true, at: Self.asked))
        #expect(response.status == .valid && response.receipt?.inApp.count == 1)
        #expect(response.latestReceiptInfo == [] && response.pendingRenewalInfo == [] && response.latestReceipt == nil)
    }

    @Test func `a script has a step for each question, and then its last one`() throws {
        let script = VerifyReceiptScript([.status(.temporarilyUnavailable), .otherHost, .otherHost], last: .status(.accountNotFound))
        var store = try store(script: script)
        let hosts: [SimulatedReceiptHost] = [.production, .production, .sandbox, .production, .production]
        let statuses = try hosts.map { host in
            try response(store.reply(to: question(host), isPosted: true, at: Self.asked)).status?.rawValue
        }
        #expect(statuses == [21005, 21007, 21008, 21010, 21010])
    }

    @Test func `a step may be something that Apple's server never says`() throws {
        let address = "https://example.com/"
        let script = VerifyReceiptScript([.page(), .redirect(to: address), .busy(retryAfter: "9"), .large(5000), .answer.by(.reset)])
        var store = try store(script: script)
        func next() -> VerifyReceiptReply { store.reply(to: question(), isPosted: true, at: Self.asked) }
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

    @Test func `what is shown of a question has neither receipt nor secret`() {
        var dumped = ""
        dump(question(), to: &dumped)
        #expect(!"\(question()) \(dumped)".contains("secret") && !dumped.contains(Self.receiptData))
    }
}
