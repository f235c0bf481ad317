import AppStore
import Outbox
import StrictJSON
import Synchronization
import Testing

@testable import ServerAPI

/// One attempt, without network: what is asked, and what each result means for the call.
struct ConsumptionAttemptTests {
    private static let askedAt: Int64 = 1_790_000_000_000

    private static func call(version: Int = 2, payload: [UInt8]? = nil) -> LeasedCall {
        let json = #"{"transactionId":"42","version":\#(version),"askedAt":\#(askedAt),"body":{"customerConsented":true}}"#
        return LeasedCall(
            callID: 1,
            epoch: 1,
            kind: "consumption",
            bundleID: "com.example.app",
            environment: .sandbox,
            payload: payload ?? Array(json.utf8),
            timeLeft: .seconds(60)
        )
    }

    private static func refused(_ code: Int) -> ServerAPIResult {
        .refused(ServerAPIRefusal(code: ServerAPIErrorCode(rawValue: code), message: "no"))
    }

    private static func result(_ step: ServerAPIStep) -> CallResult? {
        if case .finish(let result) = step { result } else { nil }
    }

    @Test(arguments: [(1, ServerAPIEndpoint.consumptionV1), (2, .consumption)])
    func `the decision is sent to the endpoint of its version`(version: Int, endpoint: ServerAPIEndpoint) {
        var attempt = ConsumptionAttempt(Self.call(version: version)) { _ in }
        guard case .ask(let request) = attempt.next(after: nil) else {
            Issue.record("nothing is asked")
            return
        }
        let expected = ServerAPIRequest(endpoint, of: "com.example.app", in: .sandbox, path: ["42"], body: ["customerConsented": true])
        #expect(request == expected)
    }

    @Test(arguments: [
        (refused(4_000_209), CallResult.refused(reason: "apple_4000209")), (refused(4_000_035), .refused(reason: "apple_4000035")),
        (refused(4_999_999), .refused(reason: "apple_4999999")), (refused(4_040_010), .later(reason: "apple_4040010")),
        (.later(ServerAPIDelay("http_503")), .later(reason: "http_503")),
        (
            .later(ServerAPIDelay("rate_limited", notBefore: .seconds(9), countsAttempt: false)),
            .later(reason: "rate_limited", notBefore: .seconds(9), countsAttempt: false)
        ),
    ])
    func `a refusal ends the call, and a replica that does not know the transaction does not`(result: ServerAPIResult, expected: CallResult)
    {
        var attempt = ConsumptionAttempt(Self.call()) { _ in }
        _ = attempt.next(after: nil)
        let step = attempt.next(after: result)
        #expect(Self.result(step) == expected)
    }

    @Test func `an answer is no event, and its delay is measured`() {
        let delays = Mutex<[Duration]>([])
        let call = Self.call()
        var attempt = ConsumptionAttempt(call) { delay in delays.withLock { $0.append(delay) } }
        guard case .ask(let request) = attempt.next(after: nil) else {
            Issue.record("nothing is asked")
            return
        }
        let sentAt = Timestamp(millisecondsSince1970: Self.askedAt + 90_000)
        let answer = ServerAPIAnswer(status: 202, body: [], askedAt: sentAt, to: request)
        let step = attempt.next(after: .answered(answer))
        #expect(Self.result(step) == .answered([]))
        #expect(delays.withLock(\.self) == [.seconds(90)])
    }

    @Test(arguments: ["", "{}", "[]", #"{"transactionId":42,"version":2,"askedAt":1,"body":{}}"#])
    func `a call whose payload is erased or unreadable is not sent`(payload: String) {
        var attempt = ConsumptionAttempt(Self.call(payload: Array(payload.utf8))) { _ in }
        let step = attempt.next(after: nil)
        #expect(Self.result(step) == .refused(reason: "payload_gone"))
    }
}
