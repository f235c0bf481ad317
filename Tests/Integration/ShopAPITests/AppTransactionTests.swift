import AppStore
import HTTPServingTesting
import InboxTesting
import Postgres
import StrictJSON
import Testing

@testable import ShopAPI

/// Posts of app transactions, and reads of them. The tests settle events themselves, in place of a worker.
@Suite(.timeLimit(.minutes(2)))
struct AppTransactionTests {
    private static let body = #"{"signedAppTransaction":"YWJj.ZGVm.Z2hp","user":"ann"}"#

    private func add(_ id: String, user: String?, app: String = "com.example.tides", in api: RunningAPI) async throws {
        try await api.database.change(
            """
            INSERT INTO appstore.app_transactions (environment, app_transaction_id, bundle_id, original_application_version,
                original_purchase_date, original_platform, signed_date, payload_hash, event_id, user_id, posted_at, post_event_id)
            SELECT 'Production', \(id), \(app), '212', '2024-05-02', 'iOS', '2026-01-31T12:01:07Z', '\\x01', 1, u.id,
                   CASE WHEN u.id IS NOT NULL THEN now() END, CASE WHEN u.id IS NOT NULL THEN 1 END
            FROM (SELECT \(user)::text AS id) AS u
            """
        )
    }

    @Test func `an app transaction is stored as posted`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey([.submitTransactions], apps: ["com.example.tides"])
            let answer = try await api.exchange("POST", "/v1/app-transactions?environment=Sandbox", key: key, json: Self.body)
            #expect(answer.status == 202)
            let event = try #require(try answer.json()["event"]?.text)
            let rows = try await api.database.withConnection { try await $0.query("SELECT source, body FROM appstore.inbox") }
            #expect(try rows.map { try $0.decode("source", as: String.self) } == ["client_app_transaction"])
            let submission = try ClientSubmission(.appTransaction, body: try #require(rows.first).decode("body"))
            #expect(
                try submission
                    == ClientSubmission(
                        .appTransaction,
                        signedTransaction: "YWJj.ZGVm.Z2hp",
                        user: "ann",
                        environment: .sandbox,
                        bundleIDs: ["com.example.tides"]
                    )
            )
            // The key may see how the event is.
            #expect(try await api.exchange("GET", "/v1/events/\(event)", key: api.makeKey()).status == 200)
        }
    }

    @Test func `a settled one is answered with the outcome and the user's app transactions`() async throws {
        try await RunningAPI.run { api in
            try await add("a1", user: "ann", in: api)
            try await add("a2", user: "bob", in: api)
            let key = try await api.makeKey([.submitTransactions])
            async let waiting = api.exchange("POST", "/v1/app-transactions?wait=10", key: key, json: Self.body)
            try await api.database.settle(api.database.awaitEvent(), "applied")
            let answer = try await waiting
            #expect(answer.status == 200)
            let json = try answer.json()
            #expect((json["result"]?.text, json["user"]?.text, json["entitlements"]) == ("applied", "ann", nil))
            let found = json["appTransactions"]?.elements ?? []
            #expect(found.map { $0["appTransactionId"]?.text } == ["a1"])
            #expect(found.first?["originalApplicationVersion"]?.text == "212" && found.first?["originalPlatform"]?.text == "iOS")
            #expect(found.first?["originalPurchaseDate"]?.text == "2024-05-02T00:00:00.000Z" && found.first?["preorderDate"] == .null)
        }
    }

    @Test(arguments: [("applied", "owner_conflict", 409, "owner-conflict"), ("rejected", "wrong_bundle", 422, "transaction-rejected")])
    func `what another user posted first, and what is not genuine, is refused`(
        result: String,
        reason: String,
        status: Int,
        problem: String
    ) async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            async let waiting = api.exchange("POST", "/v1/app-transactions?wait=10", key: key, json: Self.body)
            try await api.database.settle(api.database.awaitEvent(), result, reason: reason)
            let answer = try await waiting
            #expect((answer.status, answer.problem) == (status, problem))
            #expect(status == 409 || answer.body.contains("signedAppTransaction is not what Apple has signed"))
        }
    }

    @Test(arguments: [
        #"{"signedTransaction":"YWJj.ZGVm.Z2hp","user":"ann"}"#, #"{"signedAppTransaction":"YWJj.ZGVm","user":"ann"}"#, #"{"user":"ann"}"#,
        #"{"signedAppTransaction":"YWJj.ZGVm.Z2hp","user":""}"#, #"{"signedAppTransaction":7}"#, "[]",
    ])
    func `a body that is none is refused`(body: String) async throws {
        try await RunningAPI.run { api in
            let answer = try await api.exchange("POST", "/v1/app-transactions", key: try await api.makeKey(), json: body)
            #expect(answer.status == 400)
            #expect(try await api.database.lines("SELECT event_id::text FROM appstore.inbox") == [])
        }
    }

    @Test func `a key reads those of its apps, and of the user alone`() async throws {
        try await RunningAPI.run { api in
            try await add("a1", user: "ann", in: api)
            try await add("a2", user: "ann", app: "com.example.other", in: api)
            try await add("a3", user: "bob", in: api)
            try await add("a4", user: nil, in: api)
            func ids(_ apps: [String]?) async throws -> [String?] {
                let key = try await api.makeKey([.readEntitlements], apps: apps)
                let answer = try await api.exchange("GET", "/v1/users/ann/app-transactions", key: key)
                #expect(answer.status == 200 && answer.headers["feed-position"] != nil)
                return try answer.json()["appTransactions"]?.elements.map { $0["appTransactionId"]?.text } ?? []
            }
            #expect(try await ids(nil) == ["a1", "a2"])
            #expect(try await ids(["com.example.tides"]) == ["a1"])
            let none = try await api.exchange("GET", "/v1/users/zoe/app-transactions", key: try await api.makeKey())
            #expect(try none.json()["appTransactions"]?.elements.isEmpty == true)
        }
    }
}
