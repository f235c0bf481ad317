import StrictJSON
import Testing

@testable import Outbox

/// The requests to verifyReceipt, and the step after each of its answers.
struct VerifyReceiptAttemptTests {
    private static let addresses = VerifyReceiptAddresses()

    /// Gives an attempt one outcome after the other. Returns its requests and its result; nil when it has not finished.
    private func course(
        secrets: [String] = ["current"],
        receipt: String? = "MIIabc",
        _ outcomes: ExchangeOutcome...
    ) -> (asked: [String], result: CallResult?) {
        var attempt = VerifyReceiptAttempt(receiptData: receipt, secrets: secrets, addresses: Self.addresses)
        var asked: [String] = []
        var step = attempt.next(after: nil)
        for outcome in outcomes {
            guard case .send(let request) = step else { break }
            asked.append(Self.label(request))
            step = attempt.next(after: outcome)
        }
        switch step {
        case .send(let request): return (asked + [Self.label(request)], nil)
        case .finish(let result): return (asked, result)
        }
    }

    /// Host and secret of a request.
    private static func label(_ request: OutboundRequest) -> String {
        let hosts = [addresses.production: "production", addresses.sandbox: "sandbox"]
        do {
            guard case .string(let secret)? = try JSONParser().parseObject(request.body)["password"] else { return "no password" }
            return "\(hosts[request.url] ?? request.url) \(secret)"
        } catch {
            return "\(error)"
        }
    }

    private func answer(_ status: Int, _ more: String = "") -> ExchangeOutcome {
        .answer(HTTPAnswer(status: 200, body: Array(#"{"status":\#(status)\#(more)}"#.utf8)))
    }

    private func later(_ reason: String, atMost: Int? = nil, notBefore: Duration? = nil) -> CallResult {
        .later(reason: reason, atMost: atMost, notBefore: notBefore)
    }

    @Test func `production is asked first, by POST, with the receipt, the secret and all transactions`() throws {
        var attempt = VerifyReceiptAttempt(receiptData: "MII+/=", secrets: ["s1", "s2"], addresses: Self.addresses)
        guard case .send(let request) = attempt.next(after: nil) else {
            Issue.record("the attempt sends no request")
            return
        }
        #expect(request.method == .post && request.url == "https://buy.itunes.apple.com/verifyReceipt")
        let question = try JSONParser().parseObject(request.body)
        #expect(question["receipt-data"] == "MII+/=" && question["password"] == "s1" && question["exclude-old-transactions"] == false)
        #expect(request.maximumAnswerBytes == 4_194_304)
    }

    @Test func `status 0 is an answer, byte for byte`() {
        let body = Array(#" {"status": 0, "environment":"Sandbox", "x": [1, {"y": null}]} "#.utf8)
        let course = course(.answer(HTTPAnswer(status: 200, body: body)))
        #expect(course.result == .answered([body]))
    }

    @Test func `an answer with unreadable members is still an answer`() {
        let body = Array(#"{"status":"0","latest_receipt_info":17,"environment":{},"receipt":"?"}"#.utf8)
        #expect(course(.answer(HTTPAnswer(status: 200, body: body))).result == .answered([body]))
    }

    @Test func `a host may name the other one, and neither is asked twice`() {
        let sandbox = course(answer(21007), answer(0))
        #expect(sandbox.asked == ["production current", "sandbox current"])
        // An answer without an environment gets that of the host.
        #expect(sandbox.result == .answered([Array(#"{"environment":"Sandbox","status":0}"#.utf8)]))
        let back = course(answer(21007), answer(21008))
        #expect(back.asked == ["production current", "sandbox current"] && back.result == .refused(reason: "status_21008"))
        let nowhere = course(answer(21008))
        #expect(nowhere.asked == ["production current"] && nowhere.result == .refused(reason: "status_21008"))
        #expect(course(answer(21007), answer(21007)).result == .refused(reason: "status_21007"))
    }

    @Test func `an expired subscription of an iOS 6 style receipt has an answer`() {
        let body = Array(#" {"status":21006,"receipt":{"bid":"com.example.app"}}"#.utf8)
        let named = Array(#" {"environment":"Production","status":21006,"receipt":{"bid":"com.example.app"}}"#.utf8)
        #expect(course(.answer(HTTPAnswer(status: 200, body: body))).result == .answered([named]))
    }

    @Test func `when Apple does not know a secret, the app's next one is tried, on both hosts`() {
        let second = course(secrets: ["current", "next"], answer(21004), answer(0))
        #expect(second.asked == ["production current", "production next"])
        let sandbox = course(secrets: ["current", "next"], answer(21007), answer(21004), answer(0))
        #expect(sandbox.asked == ["production current", "sandbox current", "sandbox next"])
        let none = course(secrets: ["current", "next"], answer(21004), answer(21004))
        #expect(none.asked.count == 2 && none.result == .refused(reason: "status_21004"))
    }

    @Test(arguments: [(21002, 2), (21005, nil), (21009, nil)] as [(Int, Int?)])
    func `a temporary status is retried later`(status: Int, atMost: Int?) {
        #expect(course(answer(status)).result == later("status_\(status)", atMost: atMost))
    }

    @Test(arguments: [21100, 21150, 21199])
    func `an internal error is retried later if the answer says that it is retryable`(status: Int) {
        for yes in [
            #","is-retryable":true"#, #","is-retryable":"true""#, #","is-retryable":1"#, #","is-retryable":"1""#, #","is_retryable":true"#,
        ] {
            #expect(course(answer(status, yes)).result == later("status_\(status)"))
        }
        for no in ["", #","is-retryable":false"#, #","is-retryable":0"#, #","is-retryable":"0""#, #","is-retryable":"maybe""#] {
            #expect(course(answer(status, no)).result == .refused(reason: "status_\(status)"))
        }
    }

    @Test(arguments: [21003, 21010]) func `a status that denies the receipt denies the call`(status: Int) {
        for more in ["", #","environment":"Production","is_retryable":false"#, #","is-retryable":true"#] {
            #expect(course(answer(status, more)).result == .denied(reason: "status_\(status)"))
        }
    }

    @Test(arguments: [21000, 21001, 21004, 21099, 21200, 1, -1])
    func `every other status refuses the call, whatever is-retryable says`(status: Int) {
        #expect(course(answer(status, #","is-retryable":true"#)).result == .refused(reason: "status_\(status)"))
    }

    @Test(arguments: [
        "", "<html></html>", "[]", #"{"status":0"#, "{}", #"{"status":null}"#, #"{"status":"ok"}"#, #"{"status":0,"status":0}"#,
    ])
    func `a malformed answer is retried five times in a row`(body: String) {
        let outcome = ExchangeOutcome.answer(HTTPAnswer(status: 200, retryAfter: "9", body: Array(body.utf8)))
        #expect(course(outcome).result == later("answer_malformed", atMost: 5, notBefore: .seconds(9)))
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504, 599])
    func `a temporary HTTP status is retried`(status: Int) {
        let outcome = ExchangeOutcome.answer(HTTPAnswer(status: status, retryAfter: "120", body: Array(#"{"status":0}"#.utf8)))
        #expect(course(outcome).result == later("http_\(status)", notBefore: .seconds(120)))
    }

    @Test(
        arguments: [("7", 7), ("0", 0), ("-5", 0), ("99999999", 86_400), ("99999999999999999999", nil), ("soon", nil)] as [(String, Int?)]
    )
    func `a busy server may ask for a delay in seconds`(text: String, seconds: Int?) {
        let outcome = ExchangeOutcome.answer(HTTPAnswer(status: 429, retryAfter: text))
        #expect(course(outcome).result == later("http_429", notBefore: seconds.map { .seconds($0) }))
    }

    @Test(arguments: [201, 204, 301, 302, 307, 308, 400, 401, 403, 404, 410, 600])
    func `any other HTTP status, redirects included, is retried five times in a row`(status: Int) {
        #expect(course(.answer(HTTPAnswer(status: status))).result == later("http_\(status)", atMost: 5))
    }

    @Test(arguments: ExchangeFailure.allCases)
    func `a failed exchange is retried, but an answer that is too large is refused`(failure: ExchangeFailure) {
        let expected: CallResult = failure == .answerTooLarge ? .refused(reason: "answer_too_large") : later(failure.rawValue)
        #expect(course(.failure(failure)).result == expected)
    }

    @Test func `without a receipt the call is refused, without a secret it is postponed`() {
        let gone = course(receipt: nil)
        #expect(gone.asked == [] && gone.result == .refused(reason: "receipt_gone"))
        let withoutSecret = course(secrets: [])
        #expect(withoutSecret.asked == [] && withoutSecret.result == later("no_shared_secret", notBefore: .seconds(60)))
    }

    @Test func `the descriptions of an attempt contain neither the secret nor the receipt`() {
        var attempt = VerifyReceiptAttempt(receiptData: "MIIreceipt", secrets: ["hush-hush"], addresses: Self.addresses)
        let step = attempt.next(after: nil)
        for value in [attempt as Any, step as Any] {
            var dumped = ""
            dump(value, to: &dumped)
            let text = "\(value) \(String(reflecting: value)) \(dumped)"
            #expect(!text.contains("hush-hush") && !text.contains("MIIreceipt"), "\(text)")
        }
    }
}
