import AppStore
import HTTPServingTesting
import InboxTesting
import Postgres
import Testing

@testable import ShopAPI

/// `/v1/inquiries`, and the changes of a contract that Apple makes.
@Suite(.timeLimit(.minutes(2)))
struct InquiryTests {
    private static let order = #"{"kind":"order_lookup","id":"MK5TTTVWJH","bundleId":"com.example.tides"}"#

    /// Answers a call as a worker does.
    private func answer(_ api: RunningAPI, _ call: String, _ answer: String) async throws {
        try await api.database.change("UPDATE appstore.outbox SET epoch = 1, is_leased = true WHERE call_id = \(call)::text::bigint")
        try await api.database.change("SELECT appstore.answer_call(\(call)::text::bigint, 1, '{}', \(answer)::text::jsonb)")
    }

    @Test func `an order number is asked about once, and its answer is read`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            let asked = try await api.exchange("POST", "/v1/inquiries", key: key, json: Self.order)
            #expect(asked.status == 202, "\(asked.body)")
            #expect(try await api.exchange("POST", "/v1/inquiries", key: key, json: Self.order).status == 202)
            #expect(
                try await api.database.lines("SELECT concat_ws(' ', kind, call_key, bundle_id) FROM appstore.outbox") == [
                    "order_lookup production:MK5TTTVWJH com.example.tides"
                ]
            )
            #expect(
                try await api.database.lines("SELECT actor FROM appstore.audit_log WHERE action = 'request_apple'") == ["key \(key.id)"]
            )
            let path = try #require(asked.headers["location"])
            #expect(try await api.exchange("GET", path, key: key).json()["state"]?.text == "open")
            try await answer(api, String(path.split(separator: "/").last ?? ""), #"{"status":0,"events":0}"#)
            let settled = try await api.exchange("GET", path, key: key)
            #expect(try (settled.status, settled.json()["state"]?.text) == (200, "answered"))
            #expect(try await api.exchange("POST", "/v1/inquiries?wait=0", key: key, json: Self.order).status == 202)
        }
    }

    @Test func `an extension and a token are changes of the contract, made once`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            try await api.database.addCharge("70")
            let terms = #"{"days":7,"reason":3,"requestIdentifier":"outage-1"}"#
            for _ in 1...2 {
                let answer = try await api.exchange("PUT", "/v1/contracts/70/extension", key: key, json: terms)
                #expect(answer.status == 202, "\(answer.body)")
            }
            let other = try await api.exchange("PUT", "/v1/contracts/70/extension", key: key, json: terms.replacing("7", with: "8"))
            #expect((other.status, other.problem) == (422, "inquiry-refused"), "\(other.body)")
            let token = #"{"appAccountToken":"0F8FAD5B-D9CB-469F-A165-70867728950E"}"#
            #expect(try await api.exchange("PUT", "/v1/contracts/70/app-account-token", key: key, json: token).status == 202)
            let second = token.replacing("0F8F", with: "1F8F")
            let open = try await api.exchange("PUT", "/v1/contracts/70/app-account-token", key: key, json: second)
            #expect((open.status, open.problem) == (409, "inquiry-open"), "\(open.body)")
            #expect(
                try await api.database.lines("SELECT kind FROM appstore.outbox ORDER BY call_id") == [
                    "extend_renewal_date", "set_app_account_token",
                ]
            )
            let call = try await api.database.lines("SELECT call_id::text FROM appstore.outbox ORDER BY call_id")[0]
            try await answer(api, call, #"{"success":true}"#)
            let done = try await api.exchange("PUT", "/v1/contracts/70/extension?wait=5", key: key, json: terms)
            #expect(try (done.status, done.json()["state"]?.text) == (200, "answered"))
        }
    }

    @Test func `a key for a change reads the call that it made, and no other`() async throws {
        try await RunningAPI.run { api in
            let asked = try await api.exchange("POST", "/v1/inquiries", key: try await api.makeKey(), json: Self.order)
            let question = try #require(asked.headers["location"])
            let extender = try await api.makeKey([.extendContracts])
            // Neither the ledger nor the key names the app.
            let terms = #"{"days":7,"reason":3,"requestIdentifier":"r","bundleId":"com.example.tides"}"#
            let extended = try await api.exchange("PUT", "/v1/contracts/70/extension", key: extender, json: terms)
            #expect(extended.status == 202, "\(extended.body)")
            let path = try #require(extended.headers["location"])
            #expect(try await api.exchange("GET", path, key: extender).json()["kind"]?.text == "extend_renewal_date")
            #expect(try await api.exchange("GET", question, key: extender).status == 404)
            #expect(try await api.exchange("GET", path, key: try await api.makeKey([.setTokens])).status == 404)
            #expect(try await api.exchange("GET", path, key: try await api.makeKey([.makeInquiries])).status == 200)
            #expect(try await api.exchange("GET", path, key: try await api.makeKey([.readOrders])).problem == "verb-not-covered")
        }
    }

    @Test(arguments: [
        (#"{"kind":"extend_for_all","id":"pro"}"#, 400, "invalid-member"), (#"{"kind":"order_lookup"}"#, 400, "invalid-member"),
        (#"{"kind":"order_lookup","id":"M K","bundleId":"a"}"#, 422, "inquiry-refused"),
        (#"{"kind":"transaction_info","id":"42"}"#, 422, "inquiry-refused"),
        (#"{"kind":"order_lookup","id":"MK","environment":"Sandbox","bundleId":"a"}"#, 422, "inquiry-refused"),
        (#"{"kind":"order_lookup","id":"MK","environment":"Xcode"}"#, 400, "invalid-member"),
        (#"{"kind":"order_lookup","id":"MK","note":1}"#, 400, "unknown-member"),
    ])
    func `what cannot be asked is refused, and nothing is written`(json: String, status: Int, problem: String) async throws {
        try await RunningAPI.run { api in
            let answer = try await api.exchange("POST", "/v1/inquiries", key: try await api.makeKey(), json: json)
            #expect((answer.status, answer.problem) == (status, problem), "\(answer.body)")
            #expect(try await api.database.lines("SELECT count(*)::text FROM appstore.outbox") == ["0"])
        }
    }

    @Test func `a key asks about its apps and environments with its verbs only`() async throws {
        try await RunningAPI.run { api in
            let all = try await api.makeKey()
            let path = try #require(try await api.exchange("POST", "/v1/inquiries", key: all, json: Self.order).headers["location"])
            let dunes = try await api.makeKey(apps: ["com.example.dunes"])
            let foreign = try await api.exchange("POST", "/v1/inquiries", key: dunes, json: Self.order)
            #expect((foreign.status, foreign.problem) == (403, "app-not-covered"), "\(foreign.body)")
            #expect(try await api.exchange("GET", path, key: dunes).status == 404)
            // The only app of the key need not be named.
            let own = try await api.exchange("POST", "/v1/inquiries", key: dunes, json: #"{"kind":"transaction_info","id":"42"}"#)
            #expect(try (own.status, own.json()["bundleId"]?.text) == (202, "com.example.dunes"))
            let sandbox = try await api.makeKey(environments: [.sandbox], apps: ["com.example.dunes"])
            #expect(try await api.exchange("POST", "/v1/inquiries", key: sandbox, json: Self.order).status == 403)
            let only = try await api.exchange("POST", "/v1/inquiries", key: sandbox, json: #"{"kind":"transaction_info","id":"43"}"#)
            #expect(try (only.status, only.json()["environment"]?.text) == (202, "Sandbox"))
            let reader = try await api.makeKey([.readOrders])
            #expect(try await api.exchange("POST", "/v1/inquiries", key: reader, json: Self.order).problem == "verb-not-covered")
            let asker = try await api.makeKey([.makeInquiries])
            let terms = #"{"days":7,"reason":3,"requestIdentifier":"r"}"#
            #expect(try await api.exchange("PUT", "/v1/contracts/70/extension", key: asker, json: terms).problem == "verb-not-covered")
            for unknown in ["4711", "0", "x", "01"] {
                #expect(try await api.exchange("GET", "/v1/inquiries/\(unknown)", key: all).problem == "no-such-inquiry")
            }
            // A call of another kind is none of the API's.
            try await api.database.change(
                """
                INSERT INTO appstore.outbox (kind, call_key, bundle_id, payload, deadline_at)
                VALUES ('consumption', 'k', 'com.example.tides', '\\x7b7d', now() + interval '1 hour')
                """
            )
            let other = try await api.database.lines("SELECT max(call_id)::text FROM appstore.outbox")[0]
            #expect(try await api.exchange("GET", "/v1/inquiries/\(other)", key: all).status == 404)
        }
    }
}
