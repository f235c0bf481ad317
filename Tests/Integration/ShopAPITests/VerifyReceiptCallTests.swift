import HTTPServingTesting
import InboxTesting
import Interpretation
import Postgres
import StrictJSON
import Testing

@testable import ShopAPI

/// Receipts that need a verifyReceipt call: a waiting request waits for its result, too.
@Suite(.timeLimit(.minutes(2)))
struct VerifyReceiptCallTests {
    /// Inserts the outbox call that the worker would insert.
    private func addCall(about json: String, after event: String, _ api: RunningAPI) async throws {
        let data = try #require(try RequestText(json).receiptData)
        let key = try #require(ReceiptOutline(receiptData: data)?.callKey)
        try await api.database.change(
            """
            INSERT INTO appstore.outbox (kind, call_key, bundle_id, event_id, fallback_source, deadline_at)
            VALUES ('verify_receipt', \(key), 'com.example.tides', \(event)::text::bigint, 'unanswered_receipt', now() + interval '1 day')
            """
        )
    }

    private struct RequestText {
        let receiptData: String?

        init(_ json: String) throws {
            receiptData = try JSONParser().parseObject(Array(json.utf8))["receiptData"]?.text
        }
    }

    /// Posts a receipt with `wait`, adds its verifyReceipt call, settles the event, and runs `then` before the answer.
    private func answer(
        to json: String,
        wait: Int = 10,
        _ api: RunningAPI,
        then: () async throws -> Void
    ) async throws -> RawResponse {
        let key = try await api.makeKey([.submitReceipts])
        async let answer = api.exchange("POST", "/v1/receipts?wait=\(wait)", key: key, json: json)
        let event = try await api.database.awaitEvent()
        try await addCall(about: json, after: event, api)
        try await api.database.settle(event, "applied", reason: "verify_receipt_asked")
        try await then()
        return try await answer
    }

    /// Completes the call: stores its answer, or the receipt in its place, as a settled event.
    private func completeCall(_ source: String, _ setting: String, _ api: RunningAPI, result: String = "applied") async throws {
        try await api.database.change(
            """
            WITH stored AS (
                INSERT INTO appstore.inbox (source, received_at, body) VALUES (\(source), now(), '\\x7b7d') RETURNING event_id
            )
            UPDATE appstore.outbox SET \(unsafeRaw: setting) = stored.event_id, state = 'answered', settled_at = now() FROM stored
            """
        )
        let event = try await api.database.lines("SELECT max(event_id)::text FROM appstore.inbox").first
        try await api.database.settle(try #require(event), result)
    }

    @Test func `the transactions to finish are answered when Apple's answer is in the ledger`() async throws {
        try await RunningAPI.run { api in
            let json = try PostedReceipt.json(["70"], transactionID: "70")
            let answer = try await answer(to: json, api) {
                try await api.database.addCharge("70")
                let owner = #"{"user":"ann"}"#
                _ = try await api.exchange("PUT", "/v1/contracts/70/owner", key: try await api.makeKey(), json: owner)
                try await completeCall("verify_receipt", "answer_event_id", api)
            }
            #expect(answer.status == 200)
            #expect(try answer.json()["finish"]?.elements.map(\.text) == ["70"])
            #expect(try answer.json()["state"]?.text == "settled")
        }
    }

    @Test func `the receipt may replace the answer`() async throws {
        try await RunningAPI.run { api in
            let answer = try await answer(to: try PostedReceipt.json(["70"]), api) {
                try await api.database.addCharge("70")
                try await completeCall("unanswered_receipt", "fallback_event_id", api)
            }
            #expect(answer.status == 200)
            #expect(try answer.json()["transactions"]?.elements.map { $0["transactionId"]?.text } == ["70"])
        }
    }

    @Test func `a receipt whose call is open is accepted, and its event waits`() async throws {
        try await RunningAPI.run { api in
            let json = try PostedReceipt.json(["70"])
            let answer = try await answer(to: json, wait: 1, api) {}
            #expect(answer.status == 202)
            let path = try #require(answer.headers["location"])
            let key = try await api.makeKey()
            #expect(try await api.exchange("GET", path, key: key).json()["state"]?.text == "waiting")
            // An answer that is not in the ledger does not count.
            try await api.database.change(
                "UPDATE appstore.outbox SET state = 'answered', settled_at = now(), answer_event_id = 999"
            )
            #expect(try await api.exchange("GET", path, key: key).json()["state"]?.text == "waiting")
            try await completeCall("verify_receipt", "answer_event_id", api)
            let settled = try await api.exchange("GET", path, key: key).json()
            #expect((settled["state"]?.text, settled["denial"]) == ("settled", nil))
        }
    }

    @Test func `a receipt that Apple denies is unprocessable`() async throws {
        try await RunningAPI.run { api in
            let answer = try await answer(to: try PostedReceipt.json(["70"]), api) {
                try await api.database.change("UPDATE appstore.outbox SET state = 'refused', reason = 'status_21003', settled_at = now()")
            }
            #expect((answer.status, answer.problem) == (422, "receipt-rejected"))
            #expect(try answer.json()["reason"]?.text == "status_21003")
            let event = try await api.database.lines("SELECT max(event_id)::text FROM appstore.inbox").first ?? ""
            let seen = try await api.exchange("GET", "/v1/events/\(event)", key: try await api.makeKey()).json()
            #expect((seen["state"]?.text, seen["denial"]?.text) == ("settled", "status_21003"))
        }
    }

    @Test(arguments: [("bob", 409), (nil, 200)] as [(String?, Int)])
    func `the owner of the named purchase is checked after the call`(owner: String?, status: Int) async throws {
        try await RunningAPI.run { api in
            let answer = try await answer(to: try PostedReceipt.json(["80"], transactionID: "80"), api) {
                try await api.database.addCharge("80")
                if let owner {
                    let json = #"{"user":"\#(owner)"}"#
                    _ = try await api.exchange("PUT", "/v1/contracts/80/owner", key: try await api.makeKey(), json: json)
                }
                try await completeCall("verify_receipt", "answer_event_id", api)
            }
            #expect(answer.status == status)
            #expect(try (answer.json()["hint"] != nil) == (owner == nil))
        }
    }
}
