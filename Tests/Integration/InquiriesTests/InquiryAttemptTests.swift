import AppStore
import Outbox
import StrictJSON
import Testing

@testable import ServerAPI

/// One attempt, without network: what is asked, and what each result means for the call.
struct InquiryAttemptTests {
    private static func call(
        _ kind: String = "transaction_history",
        _ payload: String = #"{"path":["42"]}"#,
        priority: Int = 1
    ) -> LeasedCall {
        LeasedCall(
            callID: 1,
            epoch: 1,
            kind: kind,
            bundleID: "com.example.app",
            priority: priority,
            payload: Array(payload.utf8),
            timeLeft: .seconds(60)
        )
    }

    /// The result of an attempt that gets these results, with the requests that it made.
    private static func run(
        _ call: LeasedCall,
        _ results: [(ServerAPIRequest) -> ServerAPIResult]
    ) -> (requests: [ServerAPIRequest], result: CallResult?) {
        var attempt = InquiryAttempt(call)
        var requests: [ServerAPIRequest] = []
        var result: ServerAPIResult?
        while true {
            switch attempt.next(after: result) {
            case .finish(let result): return (requests, result)
            case .ask(let request):
                guard requests.count < results.count else { return (requests, nil) }
                result = results[requests.count](request)
                requests.append(request)
            }
        }
    }

    private static func answered(_ body: String) -> (ServerAPIRequest) -> ServerAPIResult {
        { .answered(ServerAPIAnswer(status: 200, body: Array(body.utf8), askedAt: Timestamp(millisecondsSince1970: 5), to: $0)) }
    }

    private static func refused(_ code: Int) -> (ServerAPIRequest) -> ServerAPIResult {
        { _ in .refused(ServerAPIRefusal(code: ServerAPIErrorCode(rawValue: code))) }
    }

    private static func page(_ result: CallResult?) -> (events: Int, answer: String, next: String?)? {
        guard case .page(let bodies, let answer, let next)? = result else { return nil }
        return (bodies.count, String(decoding: answer, as: UTF8.self), next.map { String(decoding: $0, as: UTF8.self) })
    }

    @Test(arguments: ServerAPIEndpoint.allCases)
    func `each kind asks the endpoint of its name, with path, query and body`(endpoint: ServerAPIEndpoint) throws {
        let payload = #"{"path":["a","b"],"query":[["revision","r"],["sort","DESCENDING"]],"body":{"x":1}}"#
        let (requests, _) = Self.run(Self.call(endpoint.rawValue, payload), [Self.refused(4_000_006)])
        let request = try #require(requests.first)
        #expect(request.endpoint == endpoint && request.path == ["a", "b"] && request.body == ["x": 1])
        #expect(request.query.map(\.value) == ["r", "DESCENDING"])
    }

    @Test func `each page becomes events at once, and the call goes on with its revision until the last`() throws {
        let first = #"{"hasMore":true,"revision":"r1","signedTransactions":["a.b.c","d.e.f"]}"#
        let one = try #require(Self.page(Self.run(Self.call(), [Self.answered(first)]).result))
        #expect(one.events == 2 && one.answer == #"{"environment":"Production","events":2,"pages":1,"revision":"r1"}"#)
        let next = try #require(one.next)
        let (requests, result) = Self.run(
            Self.call("transaction_history", next),
            [Self.answered(#"{"hasMore":false,"revision":"r2","signedTransactions":["g.h.i"]}"#)]
        )
        #expect(requests.map(\.query) == [[.init("revision", "r1")]])
        let two = try #require(Self.page(result))
        #expect(two.events == 1 && two.answer == #"{"environment":"Production","events":3,"pages":2,"revision":"r2"}"# && two.next == nil)
    }

    @Test(arguments: [
        (#"{"hasMore":true,"signedTransactions":[]}"#, "page_without_next"),
        (#"{"hasMore":true,"revision":"r0","signedTransactions":[]}"#, "page_without_next"), ("[]", "malformed_answer"),
        (#"{"hasMore":true,"revision":"\#(String(repeating: "r", count: 2049))","signedTransactions":[]}"#, "revision_too_long"),
        (#"{"hasMore":false,"revision":"\#(String(repeating: "r", count: 1_000_000))","signedTransactions":[]}"#, "revision_too_long"),
        (#"{"bundleId":"com.example.other","signedTransactions":[]}"#, "wrong_bundle"),
        (#"{"environment":"Sandbox","signedTransactions":[]}"#, "wrong_environment"),
    ])
    func `a page that cannot be right is asked for again, three times`(body: String, reason: String) {
        let call = Self.call("transaction_history", #"{"path":["42"],"query":[["revision","r0"]],"pages":1}"#)
        #expect(Self.run(call, [Self.answered(body)]).result == .later(reason: reason, atMost: 3))
    }

    @Test func `an extension that Apple has not made is refused`() {
        let call = Self.call("extend_renewal_date", #"{"path":["42"],"body":{"extendByDays":7}}"#)
        #expect(Self.run(call, [Self.answered(#"{"success":false}"#)]).result == .refused(reason: "not_extended"))
        #expect(Self.page(Self.run(call, [Self.answered("<html>")]).result)?.answer == "{}")
    }

    @Test(arguments: ["answer_malformed", "answer_of_another_app"])
    func `an answer of another server is asked for again, three times`(reason: String) {
        let result = Self.run(Self.call(), [{ _ in .later(ServerAPIDelay(reason)) }]).result
        #expect(result == .later(reason: reason, atMost: 3))
    }

    @Test func `an answer without an end is given up`() {
        let call = Self.call("refund_history", #"{"path":["42"],"query":[["revision","r0"]],"pages":999}"#)
        let body = #"{"hasMore":true,"revision":"r1","signedTransactions":[]}"#
        #expect(Self.run(call, [Self.answered(body)]).result == .refused(reason: "too_many_pages"))
    }

    @Test func `a refused revision begins the answer anew, three times`() {
        let call = Self.call("transaction_history", #"{"path":["42"],"query":[["revision","old"],["sort","ASCENDING"]],"pages":3}"#)
        let (requests, result) = Self.run(
            call,
            [Self.refused(4_000_005), Self.answered(#"{"hasMore":true,"revision":"n","signedTransactions":[]}"#)]
        )
        #expect(requests.map { $0.query.map(\.name) } == [["revision", "sort"], ["sort"]])
        let restarted = Self.page(result)?.next ?? ""
        #expect(restarted.contains(#""restarts":1"#) && restarted.contains(#"["revision","n"]"#))
        let worn = Self.call("transaction_history", #"{"path":["42"],"query":[["revision","old"]],"restarts":3}"#)
        #expect(Self.run(worn, [Self.refused(4_000_005)]).result == .refused(reason: "apple_4000005"))
    }

    @Test func `Sandbox is asked where Production knows nothing, if any will do`() throws {
        let call = Self.call("transaction_info", #"{"path":["42"],"anyEnvironment":true}"#)
        let (requests, result) = Self.run(call, [Self.refused(4_040_010), Self.answered(#"{"signedTransactionInfo":"a.b.c"}"#)])
        #expect(requests.map(\.lane.environment) == [.production, .sandbox])
        #expect(try #require(Self.page(result)).answer == #"{"environment":"Sandbox","events":1}"#)
        #expect(Self.run(call, [Self.refused(4_040_010), Self.refused(4_040_010)]).result == .refused(reason: "apple_4040010"))
        // Sandbox is not configured here.
        let withoutKey: (ServerAPIRequest) -> ServerAPIResult = { _ in .later(ServerAPIDelay("no_api_key", countsAttempt: false)) }
        #expect(Self.run(call, [Self.refused(4_040_010), withoutKey]).result == .refused(reason: "apple_4040010"))
        let limited: (ServerAPIRequest) -> ServerAPIResult = { _ in .later(ServerAPIDelay("rate_limited", countsAttempt: false)) }
        #expect(Self.run(call, [Self.refused(4_040_010), limited]).result == .later(reason: "rate_limited", countsAttempt: false))
        #expect(Self.run(Self.call("transaction_info"), [Self.refused(4_040_010)]).result == .refused(reason: "apple_4040010"))
        // The further pages come from where the first one was found.
        let paged = Self.call("transaction_history", #"{"path":["42"],"anyEnvironment":true}"#)
        let first = Self.run(
            paged,
            [Self.refused(4_040_010), Self.answered(#"{"hasMore":true,"revision":"r","environment":"Sandbox","signedTransactions":[]}"#)]
        )
        let next = try #require(Self.page(first.result)?.next)
        #expect(Self.run(Self.call("transaction_history", next), [Self.refused(5)]).requests.map(\.lane.environment) == [.sandbox])
    }

    @Test(arguments: [4_040_005, 4_040_010])
    func `a program's question about an unknown transaction is asked once more, an hour later`(code: Int) {
        let result = Self.run(Self.call("subscription_statuses", priority: 2), [Self.refused(code)]).result
        #expect(result == .later(reason: "apple_\(code)", atMost: 1, notBefore: .seconds(3600)))
        #expect(Self.run(Self.call("subscription_statuses"), [Self.refused(code)]).result == .refused(reason: "apple_\(code)"))
    }

    @Test(arguments: [
        ("order_lookup", #"{"status":1,"signedTransactions":[]}"#, #"{"environment":"Production","events":0,"status":1}"#),
        (
            "extend_renewal_date", #"{"originalTransactionId":"42","success":true,"effectiveDate":9,"x":"a.b.c"}"#,
            #"{"originalTransactionId":"42","success":true,"effectiveDate":9}"#
        ),
        ("test_notification", #"{"testNotificationToken":"t_1"}"#, #"{"testNotificationToken":"t_1"}"#),
        ("test_status", #"{"sendAttempts":[],"signedPayload":"a.b.c"}"#, #"{"sendAttempts":[]}"#), ("set_app_account_token", "", "{}"),
        ("finish_transaction", "<html>", "{}"), ("customer_groups", #"{"groups":[],"x":"a.b.c"}"#, #"{"groups":[]}"#),
        (
            "group_members", #"{"members":[{"appTransactionId":"7"}],"hasMore":true,"paginationToken":"t"}"#,
            #"{"members":[{"appTransactionId":"7"}],"hasMore":true,"paginationToken":"t"}"#
        ),
        (
            "seat_info", #"{"totalSeatCount":2,"availableSeatCount":0,"assignedSeatClaimIds":["a","b","c"]}"#,
            #"{"totalSeatCount":2,"availableSeatCount":0,"assignedSeatClaimIds":["a","b","c"]}"#
        ),
    ])
    func `what is no event is told in the answer, and nothing signed`(kind: String, body: String, answer: String) throws {
        let page = try #require(Self.page(Self.run(Self.call(kind), [Self.answered(body)]).result))
        #expect(page.events == 0 && page.answer == answer && page.next == nil)
    }

    @Test(arguments: [
        ("verify_receipt", #"{"path":["42"]}"#), ("transaction_info", ""), ("transaction_info", "[]"),
        ("transaction_info", #"{"path":"42"}"#), ("transaction_info", #"{"path":[42]}"#), ("transaction_info", #"{"query":[["a"]]}"#),
    ])
    func `an unknown kind or payload is refused without a request`(kind: String, payload: String) {
        let (requests, result) = Self.run(Self.call(kind, payload), [])
        #expect(requests.isEmpty && result == .refused(reason: "unknown_inquiry"))
    }
}
