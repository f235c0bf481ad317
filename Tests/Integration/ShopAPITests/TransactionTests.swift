import AppStore
import HTTPServingTesting
import InboxTesting
import Postgres
import StrictJSON
import Testing

@testable import ShopAPI

/// Stores posted transactions, and answers once the event is settled. The tests settle events themselves, in place of a worker.
@Suite(.timeLimit(.minutes(2)))
struct TransactionTests {
    private static let body = #"{"signedTransaction":"YWJj.ZGVm.Z2hp","user":"ann"}"#

    /// Posts a transaction with `wait`, settles its event, and returns the answer.
    private func settled(_ api: RunningAPI, _ result: String, reason: String? = nil, user: Bool = true) async throws -> RawResponse {
        let key = try await api.makeKey([.submitTransactions])
        let body = user ? Self.body : #"{"signedTransaction":"YWJj.ZGVm.Z2hp"}"#
        async let answer = api.exchange("POST", "/v1/transactions?wait=10", key: key, json: body)
        try await api.database.settle(api.database.awaitEvent(), result, reason: reason)
        return try await answer
    }

    @Test func `a transaction is stored as posted`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey(apps: ["com.example.tides"])
            let answer = try await api.exchange("POST", "/v1/transactions?environment=Sandbox", key: key, json: Self.body)
            #expect(answer.status == 202)
            let event = try #require(try answer.json()["event"]?.text)
            #expect(answer.headers["location"] == "/v1/events/\(event)")
            let rows = try await api.database.withConnection { try await $0.query("SELECT source, body FROM appstore.inbox") }
            #expect(try rows.map { try $0.decode("source", as: String.self) } == ["client_transaction"])
            let submission = try ClientSubmission(body: try #require(rows.first).decode("body"))
            let expected = try ClientSubmission(
                signedTransaction: "YWJj.ZGVm.Z2hp",
                user: "ann",
                environment: .sandbox,
                bundleIDs: ["com.example.tides"]
            )
            #expect(submission == expected)
            #expect(try await api.database.lines("SELECT event_id::text FROM appstore.inbox_queue") == [event])
        }
    }

    @Test(arguments: ["applied", "superseded", "no_effect", "duplicate"])
    func `a settled transaction is answered with the outcome and entitlements`(result: String) async throws {
        try await RunningAPI.run { api in
            try await api.database.addCharge("70")
            _ = try await api.exchange("PUT", "/v1/contracts/70/owner", key: try await api.makeKey(), json: #"{"user":"ann"}"#)
            let answer = try await settled(api, result)
            #expect(answer.status == 200)
            let json = try answer.json()
            #expect((json["result"]?.text, json["state"]?.text, json["user"]?.text) == (result, "settled", "ann"))
            let entitlements = json["entitlements"]?.elements ?? []
            #expect(entitlements.map { $0["entitlement"]?.text } == ["pro.monthly"])
            #expect(entitlements.first?["active"] == .bool(true))
            #expect(entitlements.first?["originalTransactionId"]?.text == "70")
        }
    }

    @Test func `without a user the answer has no entitlements`() async throws {
        try await RunningAPI.run { api in
            let json = try await settled(api, "applied", user: false).json()
            #expect(json["result"]?.text == "applied")
            #expect((json["user"], json["entitlements"]) == (nil, nil))
        }
    }

    @Test func `a purchase of another user is a conflict without details`() async throws {
        try await RunningAPI.run { api in
            try await api.database.addCharge("70")
            _ = try await api.exchange("PUT", "/v1/contracts/70/owner", key: try await api.makeKey(), json: #"{"user":"bob"}"#)
            let answer = try await settled(api, "applied", reason: "owner_conflict")
            #expect((answer.status, answer.problem) == (409, "owner-conflict"))
            #expect(try answer.json().names.sorted() == ["detail", "status", "title", "type"])
            #expect(!answer.body.contains("bob"))
        }
    }

    @Test func `a purchase without an owner gets a hint`() async throws {
        try await RunningAPI.run { api in
            let answer = try await settled(api, "applied", reason: "owner_unknown")
            #expect(answer.status == 200)
            let json = try answer.json()
            #expect(json["reason"]?.text == "owner_unknown")
            #expect(json["hint"]?.text?.contains("PUT /v1/contracts/{originalTransactionId}/owner") == true)
            #expect((json["user"], json["entitlements"]) == (nil, nil))
        }
    }

    @Test func `a transaction that is not genuine is unprocessable, with the reason`() async throws {
        try await RunningAPI.run { api in
            let answer = try await settled(api, "rejected", reason: "wrong_bundle")
            #expect((answer.status, answer.problem) == (422, "transaction-rejected"))
            #expect(try answer.json()["reason"]?.text == "wrong_bundle")
        }
    }

    @Test func `a transaction without Apple's certificates may be one of Xcode, which the answer says`() async throws {
        try await RunningAPI.run { api in
            let answer = try await settled(api, "rejected", reason: "x5c_count")
            #expect((answer.status, answer.problem) == (422, "transaction-rejected"))
            #expect(try answer.json()["reason"]?.text == "x5c_count" && answer.json()["detail"]?.text?.contains("Xcode") == true)
        }
    }

    @Test func `a transaction of Sandbox that is posted for Production is of another environment, which the answer says`() async throws {
        try await RunningAPI.run { api in
            let answer = try await settled(api, "rejected", reason: "wrong_environment")
            #expect((answer.status, answer.problem) == (422, "transaction-rejected"))
            #expect(try answer.json()["detail"]?.text?.contains("TestFlight") == true)
        }
    }

    @Test(arguments: [("failed", "attempts_exhausted"), ("discarded", "by hand")])
    func `a failed or discarded transaction is accepted: an operator may run it again`(result: String, reason: String) async throws {
        try await RunningAPI.run { api in
            let answer = try await settled(api, result, reason: reason)
            #expect(answer.status == 202)
            #expect(answer.headers["location"] != nil)
        }
    }

    @Test func `a transaction that is not settled in time is accepted`() async throws {
        try await RunningAPI.run { api in
            let start = ContinuousClock.now
            let answer = try await api.exchange("POST", "/v1/transactions?wait=1", key: try await api.makeKey(), json: Self.body)
            #expect(answer.status == 202)
            #expect(start.duration(to: .now) >= .seconds(1))
            #expect(try answer.json()["state"]?.text == "waiting")
        }
    }

    @Test func `a waiting request holds no connection`() async throws {
        try await RunningAPI.run(connections: 1) { api in
            let key = try await api.makeKey()
            async let waiting = api.exchange("POST", "/v1/transactions?wait=10", key: key, json: Self.body)
            let event = try await api.database.awaitEvent()
            for _ in 1...20 { #expect(try await api.exchange("GET", "/v1/users/ann/entitlements", key: key).status == 200) }
            try await api.database.settle(event, "applied")
            #expect(try await waiting.status == 200)
        }
    }

    @Test func `shutdown does not wait for the outcome`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            async let waiting = api.exchange("POST", "/v1/transactions?wait=10", key: key, json: Self.body)
            _ = try await api.database.awaitEvent()
            let start = ContinuousClock.now
            await api.shutDown()
            #expect(try await waiting.status == 202)
            #expect(start.duration(to: .now) < .seconds(5))
        }
    }

    @Test(arguments: ["?wait=11", "?wait=-1", "?wait=", "?wait=1&wait=1", "?wait", "?wait=%zz", "?environment=production", "?timeout=1"])
    func `an invalid query is refused`(query: String) async throws {
        try await RunningAPI.run { api in
            let answer = try await api.exchange("POST", "/v1/transactions\(query)", key: try await api.makeKey(), json: Self.body)
            #expect(answer.status == 400)
            #expect(answer.problem == (query.hasPrefix("?timeout") ? "unknown-parameter" : "invalid-parameter"))
            #expect(try await api.database.lines("SELECT count(*)::text FROM appstore.inbox") == ["0"])
        }
    }

    @Test(arguments: [
        (#"{}"#, "signedTransaction"), (#"{"signedTransaction":"YQ.YQ"}"#, "signedTransaction"),
        (#"{"signedTransaction":"YQ.Y=.YQ"}"#, "signedTransaction"), (#"{"signedTransaction":"YQ.YQ.YQ\n"}"#, "signedTransaction"),
        (#"{"signedTransaction":"\"YQ.YQ.YQ\""}"#, "signedTransaction"), (#"{"signedTransaction":" YQ.YQ.YQ"}"#, "signedTransaction"),
        (#"{"signedTransaction":"YQ.Y+.YQ"}"#, "signedTransaction"), (#"{"signedTransaction":"2000000123456789"}"#, "signedTransaction"),
        (#"{"signedTransaction":"Bearer YQ.YQ.YQ"}"#, "signedTransaction"), (#"{"signedTransaction":{"a":1}}"#, "signedTransaction"),
        (#"{"signedTransaction":"YQ.YQ.YQ","user":""}"#, "user"),
    ])
    func `a body that cannot be a transaction is refused, with the member`(json: String, member: String) async throws {
        try await RunningAPI.run { api in
            let answer = try await api.exchange("POST", "/v1/transactions", key: try await api.makeKey(), json: json)
            #expect((answer.status, answer.problem) == (400, "invalid-member"))
            #expect(try answer.json()["member"]?.text == member)
        }
    }
}
