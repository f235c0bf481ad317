import AppStore
import HTTPServing
import HTTPServingTesting
import InboxTesting
import Postgres
import StrictJSON
import Testing

@testable import ShopAPI

/// Stores posted receipts, and answers once the event is settled. The tests settle events themselves, in place of a worker.
@Suite(.timeLimit(.minutes(2)))
struct ReceiptTests {
    private static let body = #"{"receiptData":"MIIB","user":"ann","transactionId":"71"}"#

    /// Posts a receipt with `wait`, settles its event, and returns the answer.
    private func settled(
        _ api: RunningAPI,
        _ result: String,
        reason: String? = nil,
        json: String = body,
        apps: [String]? = nil
    ) async throws -> RawResponse {
        let key = try await api.makeKey([.submitReceipts], apps: apps)
        async let answer = api.exchange("POST", "/v1/receipts?wait=10", key: key, json: json)
        let app = apps?.first ?? "com.example.tides"
        try await api.database.settle(api.database.awaitEvent(), result, reason: reason, app: app)
        return try await answer
    }

    /// Adds three contracts: one of ann, one of bob, one without an owner.
    private func addCharges(_ api: RunningAPI) async throws {
        for (charge, user) in [("70", "ann"), ("80", "bob"), ("90", nil)] {
            try await api.database.addCharge(charge)
            guard let user else { continue }
            _ = try await api.exchange("PUT", "/v1/contracts/\(charge)/owner", key: try await api.makeKey(), json: #"{"user":"\#(user)"}"#)
        }
    }

    @Test(arguments: [nil, "71"] as [String?])
    func `a receipt is stored as posted`(transactionID: String?) async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey(apps: ["com.example.tides"])
            let json = try PostedReceipt.json(["71"], transactionID: transactionID)
            let answer = try await api.exchange("POST", "/v1/receipts?environment=Sandbox", key: key, json: json)
            #expect(answer.status == 202)
            let event = try #require(try answer.json()["event"]?.text)
            #expect(answer.headers["location"] == "/v1/events/\(event)")
            #expect(try answer.json()["state"]?.text == "waiting")
            let rows = try await api.database.withConnection { try await $0.query("SELECT source, body FROM appstore.inbox") }
            #expect(try rows.map { try $0.decode("source", as: String.self) } == ["client_receipt"])
            let expected = try ClientReceipt(
                receiptData: PostedReceipt.base64(["71"]),
                user: "ann",
                transactionID: transactionID,
                environment: .sandbox,
                bundleIDs: ["com.example.tides"]
            )
            #expect(try ClientReceipt(body: try #require(rows.first).decode("body")) == expected)
            #expect(try await api.database.lines("SELECT event_id::text FROM appstore.inbox_queue") == [event])
        }
    }

    @Test(arguments: [
        ("applied", nil), ("superseded", nil), ("no_effect", nil), ("duplicate", nil), ("unhandled", "incomplete_transaction:product_id"),
        ("applied", "transaction_not_in_receipt"),
    ])
    func `a settled receipt is answered with transactions to finish and entitlements`(result: String, reason: String?) async throws {
        try await RunningAPI.run { api in
            try await addCharges(api)
            let json = try PostedReceipt.json(["90", "70", "99", "80", "70"], transactionID: "70")
            let answer = try await settled(api, result, reason: reason, json: json)
            #expect(answer.status == 200)
            let object = try answer.json()
            #expect((object["result"]?.text, object["state"]?.text, object["user"]?.text) == (result, "settled", "ann"))
            #expect(object["reason"]?.text == reason)
            let charges = (object["transactions"]?.elements ?? []).map { charge in
                let values = ["transactionId", "originalTransactionId", "productId", "owner"].map { charge[$0]?.text ?? "" }
                return (values + ["\(charge["mayFinish"] == .bool(true))"]).joined(separator: " ")
            }
            #expect(charges == ["90 90 pro.monthly nobody false", "70 70 pro.monthly you true", "80 80 pro.monthly another true"])
            #expect(object["finish"]?.elements.map(\.text) == ["70", "80"])
            #expect(object["entitlements"]?.elements.map { $0["originalTransactionId"]?.text } == ["70"])
            #expect(object["hint"] == nil)
            #expect(!answer.body.contains("bob"))
        }
    }

    @Test func `charges are not returned to a key of other apps`() async throws {
        try await RunningAPI.run { api in
            try await addCharges(api)
            let json = try PostedReceipt.json(["70", "80"])
            let object = try await settled(api, "applied", json: json, apps: ["com.example.dunes"]).json()
            #expect(object["transactions"]?.elements == [] && object["finish"]?.elements == [] && object["entitlements"]?.elements == [])
        }
    }

    @Test func `charges of the other environment are not returned`() async throws {
        try await RunningAPI.run { api in
            try await api.database.addCharge("70", environment: .sandbox)
            let object = try await settled(api, "applied", json: try PostedReceipt.json(["70"])).json()
            #expect(object["transactions"]?.elements == [])
        }
    }

    @Test func `a receipt may have hundreds of charges`() async throws {
        try await RunningAPI.run { api in
            try await api.database.addCharge("70")
            let json = try PostedReceipt.json((1...500).map { "\($0)" })
            let object = try await settled(api, "applied", json: json).json()
            #expect(object["transactions"]?.elements.map { $0["transactionId"]?.text } == ["70"])
        }
    }

    @Test func `a named purchase of another user is a conflict without details`() async throws {
        try await RunningAPI.run { api in
            try await addCharges(api)
            let json = try PostedReceipt.json(["80"], transactionID: "80")
            let answer = try await settled(api, "applied", reason: "owner_conflict", json: json)
            #expect((answer.status, answer.problem) == (409, "owner-conflict"))
            #expect(try answer.json().names.sorted() == ["detail", "status", "title", "type"])
            #expect(!answer.body.contains("bob"))
        }
    }

    @Test func `a named purchase without an owner gets a hint`() async throws {
        try await RunningAPI.run { api in
            try await addCharges(api)
            let json = try PostedReceipt.json(["90"], transactionID: "90")
            let answer = try await settled(api, "applied", reason: "owner_unknown", json: json)
            #expect(answer.status == 200)
            let object = try answer.json()
            #expect(object["hint"]?.text?.contains("PUT /v1/contracts/{originalTransactionId}/owner") == true)
            #expect(object["transactions"]?.elements.map { $0["owner"]?.text } == ["nobody"])
            #expect(object["finish"]?.elements == [])
        }
    }

    @Test(arguments: ["receipt_not_base64", "signature_invalid", "wrong_bundle"])
    func `a receipt that is not genuine is unprocessable, with the reason`(reason: String) async throws {
        try await RunningAPI.run { api in
            let answer = try await settled(api, "rejected", reason: reason)
            #expect((answer.status, answer.problem) == (422, "receipt-rejected"))
            let object = try answer.json()
            #expect(object["reason"]?.text == reason)
            #expect(object["detail"]?.text?.hasPrefix("receiptData is not a receipt that Apple has signed") == true)
        }
    }

    @Test func `a receipt below another root may be one of Xcode, which the answer says`() async throws {
        try await RunningAPI.run { api in
            let answer = try await settled(api, "rejected", reason: "untrusted_root")
            #expect((answer.status, answer.problem) == (422, "receipt-rejected"))
            #expect(try answer.json()["detail"]?.text?.contains("Xcode") == true)
        }
    }

    @Test func `a receipt of Sandbox that is posted for Production is of another environment, which the answer says`() async throws {
        try await RunningAPI.run { api in
            let answer = try await settled(api, "rejected", reason: "wrong_environment")
            #expect((answer.status, answer.problem) == (422, "receipt-rejected"))
            #expect(try answer.json()["detail"]?.text?.contains("TestFlight") == true)
        }
    }

    @Test func `the receipt of a single transaction is refused as such`() async throws {
        try await RunningAPI.run { api in
            let answer = try await settled(api, "rejected", reason: "transaction_receipt")
            #expect((answer.status, answer.problem) == (422, "receipt-rejected"))
            #expect(try answer.json()["detail"]?.text?.contains("iOS 6") == true)
        }
    }

    @Test(arguments: [("failed", "attempts_exhausted"), ("discarded", "by hand")])
    func `a failed or discarded receipt is accepted: an operator may run it again`(result: String, reason: String) async throws {
        try await RunningAPI.run { api in
            let answer = try await settled(api, result, reason: reason)
            #expect(answer.status == 202)
            #expect(answer.headers["location"] != nil)
        }
    }

    @Test func `a receipt that is not settled in time is accepted`() async throws {
        try await RunningAPI.run { api in
            let start = ContinuousClock.now
            let answer = try await api.exchange("POST", "/v1/receipts?wait=1", key: try await api.makeKey(), json: Self.body)
            #expect(answer.status == 202)
            #expect(start.duration(to: .now) >= .seconds(1))
        }
    }

    @Test(arguments: [
        (#"{"user":"ann"}"#, "receiptData"), (#"{"receiptData":"","user":"ann"}"#, "receiptData"),
        (#"{"receiptData":7,"user":"ann"}"#, "receiptData"), (#"{"receiptData":"MII\u0000","user":"ann"}"#, "receiptData"),
        (#"{"receiptData":"MIIB"}"#, "user"), (#"{"receiptData":"MIIB","user":null}"#, "user"),
        (#"{"receiptData":"MIIB","user":""}"#, "user"), (#"{"receiptData":"MIIB","user":"a\u0000"}"#, "user"),
        (#"{"receiptData":"MIIB","user":"ann","transactionId":""}"#, "transactionId"),
        (#"{"receiptData":"MIIB","user":"ann","transactionId":71}"#, "transactionId"),
    ])
    func `a body that cannot be a receipt is refused, with the member`(json: String, member: String) async throws {
        try await RunningAPI.run { api in
            let answer = try await api.exchange("POST", "/v1/receipts", key: try await api.makeKey(), json: json)
            #expect((answer.status, answer.problem) == (400, "invalid-member"))
            #expect(try answer.json()["member"]?.text == member)
            #expect(try await api.database.lines("SELECT count(*)::text FROM appstore.inbox") == ["0"])
        }
    }

    @Test(arguments: [
        ("", body.replacing("user", with: "usr"), 400, "unknown-member"), ("", "[]", 400, "not-an-object"), ("", "{", 400, "not-json"),
        ("?wait=11", body, 400, "invalid-parameter"), ("?environment=sandbox", body, 400, "invalid-parameter"),
        ("?timeout=1", body, 400, "unknown-parameter"), ("?environment=Sandbox", body, 403, "environment-not-covered"),
    ])
    func `an invalid query, body or environment is refused`(query: String, json: String, status: Int, problem: String) async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey(environments: [.production])
            let answer = try await api.exchange("POST", "/v1/receipts\(query)", key: key, json: json)
            #expect((answer.status, answer.problem) == (status, problem))
            #expect(try await api.database.lines("SELECT count(*)::text FROM appstore.inbox") == ["0"])
        }
    }

    @Test func `a receipt may be larger than any other body`() async throws {
        func json(bytes: Int) -> String {
            Self.body.replacing("MIIB", with: "MIIB" + String(repeating: "A", count: bytes - Self.body.utf8.count))
        }
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            let largest = 4 * 1024 * 1024 - 64 * 1024
            for bytes in [300_000, largest] {
                let answer = try await api.exchange("POST", "/v1/receipts?environment=Production", key: key, json: json(bytes: bytes))
                #expect(answer.status == 202)
            }
            let lengths = try await api.database.lines("SELECT octet_length(body)::text FROM appstore.inbox ORDER BY event_id")
            #expect(lengths == [300_000, largest].map { "\($0 + #","environment":"Production""#.utf8.count)" })
            for (path, bytes) in [("/v1/receipts", largest + 1), ("/v1/transactions", 262_145)] {
                let answer = try await api.exchange("POST", path, key: key, json: "", announced: bytes)
                #expect((answer.status, answer.problem) == (413, "content-too-large"))
            }
        }
        try await RunningAPI.run(receiptBytes: 4 * 1024 * 1024) { api in
            // With the members added to it, the event exceeds the limit of the inbox.
            let answer = try await api.exchange("POST", "/v1/receipts", key: try await api.makeKey(), json: json(bytes: 4 * 1024 * 1024))
            #expect((answer.status, answer.problem) == (413, "content-too-large"))
            #expect(try await api.database.lines("SELECT count(*)::text FROM appstore.inbox") == ["0"])
        }
    }

    @Test func `slow receipts leave memory for other requests`() async throws {
        try await RunningAPI.run(limits: { $0.maximumBytesInMemory = 2 << 20 }, receiptBytes: 1 << 20) { api in
            let key = try await api.makeKey()
            let fields = "Host: shop\r\nContent-Length: 1048576\r\nExpect: 100-continue\r\n\r\n"
            var clients: [RawClient] = []
            for _ in 1...20 {
                let client = try await RawClient.connect(port: api.port, sending: "POST /v1/receipts HTTP/1.1\r\n" + fields)
                #expect(try await client.response().status == 100)
                clients.append(client)
            }
            let answer = try await api.exchange("POST", "/v1/receipts?environment=Production", key: key, json: Self.body)
            #expect(answer.status == 202)
            for client in clients { client.close() }
        }
    }
}
