import InboxTesting
import Outbox
import Postgres
import StrictJSON
import Testing

/// Questions that a scripted Apple answers, from SQL to the inbox.
@Suite(.timeLimit(.minutes(2)))
struct InquiryHandlerTests {
    private static let app = "bundle_id => 'com.example.app'"

    @Test func `a history of three pages is stored page by page, and a failure repeats one page`() async throws {
        let scene = try await InquiryScene()
        let call = try await scene.ask("appstore.ask_apple('transaction_history', '42', \(Self.app), environment => 'Production')")
        func page(_ revision: String, _ hasMore: Bool, _ jws: String) -> ExchangeOutcome {
            .json(#"{"hasMore":\#(hasMore),"revision":"\#(revision)","bundleId":"com.example.app","signedTransactions":[\#(jws)]}"#)
        }
        try await scene.run(
            answering: [
                page("r1", true, #""a.b.c","d.e.f""#), .answer(HTTPAnswer(status: 503)), page("r2", true, #""g.h.i""#),
                .failure(.connectionFailed), page("r3", false, ""),
            ]
        )
        #expect(scene.targets == ["42", "42?revision=r1", "42?revision=r1", "42?revision=r2", "42?revision=r2"])
        let answer = #"{"pages": 3, "events": 3, "revision": "r3", "environment": "Production"}"#
        #expect(try await scene.calls() == ["answered 2 \(answer) 3"])
        #expect(
            try await scene.database.lines(
                "SELECT source || ' ' || (convert_from(body, 'UTF8')::json ->> 'answer') FROM appstore.inbox ORDER BY event_id"
            )
                == ["a.b.c", "d.e.f", "g.h.i"].map { #"transaction_info {"signedTransactionInfo":"\#($0)"}"# }
        )
        let document = try await scene.database.lines("SELECT appstore.call_document(\(call))")
        let json = try JSONParser().parseObject(Array((document.first ?? "").utf8))
        guard case .array(let events)? = json["events"] else {
            Issue.record("no events")
            return
        }
        #expect(events.count == 3 && json["state"] == "answered")
    }

    @Test func `an order number is looked up: its status is the answer, its transactions are events`() async throws {
        let scene = try await InquiryScene()
        try await scene.ask("appstore.ask_apple('order_lookup', 'MK5TTTVWJH', \(Self.app))")
        try await scene.ask("appstore.ask_apple('order_lookup', 'MX', \(Self.app))")
        try await scene.run(
            answering: [.json(#"{"status":0,"signedTransactions":["a.b.c"]}"#), .json(#"{"status":1,"signedTransactions":[]}"#)]
        )
        #expect(
            try await Set(scene.calls()) == [
                #"answered 1 {"events": 1, "status": 0, "environment": "Production"} 1"#,
                #"answered 1 {"events": 0, "status": 1, "environment": "Production"} 0"#,
            ]
        )
    }

    @Test func `each page of a group's members is a call, which Sandbox answers`() async throws {
        let scene = try await InquiryScene()
        let first = #"{"members":[{"appTransactionId":"7"}],"hasMore":true,"paginationToken":"a+b"}"#
        try await scene.ask("appstore.ask_apple('group_members', '9', \(Self.app))")
        try await scene.run(answering: [.json(first)])
        try await scene.ask("appstore.ask_apple('group_members', '9', \(Self.app), pagination_token => 'a+b')")
        try await scene.run(answering: [.json(#"{"members":[{"appTransactionId":"8"}],"hasMore":false}"#)])
        #expect(scene.targets == ["9?limit=100", "9?limit=100&paginationToken=a%2Bb"])
        #expect(scene.requests.allSatisfy { $0.url.contains("sandbox") })
        #expect(
            try await scene.calls() == [
                #"answered 1 {"hasMore": true, "members": [{"appTransactionId": "7"}], "paginationToken": "a+b"} 0"#,
                #"answered 1 {"hasMore": false, "members": [{"appTransactionId": "8"}]} 0"#,
            ]
        )
    }

    @Test func `the page of a gateway instead of an answer is asked for again`() async throws {
        let scene = try await InquiryScene()
        try await scene.ask("appstore.ask_apple('transaction_info', '42', \(Self.app), environment => 'Production')")
        let pages = [(500, "<html>oops</html>"), (500, ""), (502, "bad"), (403, "<html>proxy</html>"), (404, "<html>"), (302, "")]
        let gateway = pages.map { ExchangeOutcome.answer(HTTPAnswer(status: $0.0, body: Array($0.1.utf8))) }
        try await scene.run(
            answering: gateway + [.answer(HTTPAnswer(status: 200)), .json("<html>"), .json(#"{"signedTransactionInfo":"a.b.c"}"#)]
        )
        #expect(scene.requests.count == 9)
        let calls = try await scene.calls()
        #expect(calls == [#"answered 9 {"events": 1, "environment": "Production"} 1"#])
    }

    @Test func `a transaction of unknown environment is found in Sandbox, and an unknown one is refused`() async throws {
        let scene = try await InquiryScene()
        try await scene.ask("appstore.ask_apple('transaction_info', '42', \(Self.app))")
        try await scene.run(answering: [.apple(404, 4_040_010), .json(#"{"signedTransactionInfo":"a.b.c"}"#)])
        #expect(scene.requests.map { $0.url.contains("sandbox") } == [false, true])
        #expect(try await scene.calls() == [#"answered 1 {"events": 1, "environment": "Sandbox"} 1"#])
        try await scene.ask("appstore.ask_apple('transaction_info', '43', \(Self.app))")
        try await scene.run(answering: [.apple(404, 4_040_010), .apple(404, 4_040_010)])
        #expect(try await scene.calls().last == "refused apple_4040010 1 0")
    }

    @Test func `statuses are an event for each contract, of a source of their own`() async throws {
        let scene = try await InquiryScene()
        try await scene.ask("appstore.ask_apple('subscription_statuses', '42', \(Self.app), environment => 'Sandbox')")
        let entry = #"{"originalTransactionId":"42","status":1,"signedTransactionInfo":"a.b.c","signedRenewalInfo":"d.e.f"}"#
        try await scene.run(
            answering: [
                .json(#"{"environment":"Sandbox","bundleId":"com.example.app","data":[{"lastTransactions":[\#(entry),\#(entry)]}]}"#)
            ]
        )
        #expect(try await scene.calls() == [#"answered 1 {"events": 2, "environment": "Sandbox"} 2"#])
        #expect(try await scene.database.lines("SELECT DISTINCT source FROM appstore.inbox") == ["subscription_status"])
    }

    @Test func `an extension and a token are sent as Apple wants them, and refusals keep Apple's code`() async throws {
        let scene = try await InquiryScene()
        try await scene.ask("appstore.extend_renewal_date('42', 7, 3, 'outage-1', \(Self.app))", as: "appstore_backend")
        try await scene.run(answering: [.json(#"{"originalTransactionId":"42","success":true,"effectiveDate":9,"webOrderLineItemId":"w"}"#)]
        )
        try await scene.ask(
            "appstore.set_app_account_token('42', '0F8FAD5B-D9CB-469F-A165-70867728950E', \(Self.app))",
            as: "appstore_backend"
        )
        try await scene.run(answering: [.apple(400, 4_000_185)])
        #expect(scene.requests.map(\.method) == [.put, .put])
        #expect(
            try scene.requests.map { try Set(JSONParser().parseObject($0.body).members) } == [
                Set((["extendByDays": 7, "extendReasonCode": 3, "requestIdentifier": "outage-1"] as JSONObject).members),
                Set((["appAccountToken": "0f8fad5b-d9cb-469f-a165-70867728950e"] as JSONObject).members),
            ]
        )
        #expect(
            try await scene.calls() == [
                #"answered 1 {"success": true, "effectiveDate": 9, "webOrderLineItemId": "w", "originalTransactionId": "42"} 0"#,
                "refused apple_4000185 1 0",
            ]
        )
        #expect(try await scene.database.lines("SELECT count(*)::text FROM appstore.inbox") == ["0"])
    }

    @Test func `the status of a test is asked for until Apple has it`() async throws {
        let scene = try await InquiryScene()
        try await scene.ask("appstore.ask_apple('test_notification', \(Self.app), environment => 'Sandbox')")
        try await scene.run(answering: [.json(#"{"testNotificationToken":"t_1"}"#)])
        try await scene.ask("appstore.ask_apple('test_status', 't_1', \(Self.app), environment => 'Sandbox')")
        let status = #"{"signedPayload":"a.b.c","sendAttempts":[{"attemptDate":5,"sendAttemptResult":"SUCCESS"}]}"#
        try await scene.run(answering: [.apple(404, 4_040_008), .apple(404, 4_040_008), .json(status)])
        #expect(
            try await scene.calls() == [
                #"answered 1 {"testNotificationToken": "t_1"} 0"#,
                #"answered 3 {"sendAttempts": [{"attemptDate": 5, "sendAttemptResult": "SUCCESS"}]} 0"#,
            ]
        )
        #expect(scene.targets.suffix(3) == ["t_1", "t_1", "t_1"])
    }
}
