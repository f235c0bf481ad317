import AppStore
import FoundationEssentials
import HTTPServingTesting
import InboxTesting
import Postgres
import StrictJSON
import Testing

@testable import ShopAPI

/// `PUT /v1/users/{user}/token`.
@Suite(.timeLimit(.minutes(2)))
struct TokenTests {
    private static let token = "3f0c1c9e-6a0e-5c5b-9d0a-5f2f0c5b7a11"
    private static let body = #"{"token":"\#(token)"}"#

    @Test func `a token is set once, and its purchases are the user's`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey([.createOrders, .readOrders], environments: [.production])
            try await api.database.addCharge("70", token: UUID(uuidString: Self.token))
            for token in [Self.token, Self.token.uppercased()] {
                let answer = try await api.exchange("PUT", "/v1/users/ann/token", key: key, json: #"{"token":"\#(token)"}"#)
                #expect(answer.status == 200, "\(answer.body)")
                #expect(try answer.json()["token"]?.text == Self.token)
                #expect(try answer.json()["user"]?.text == "ann")
            }
            let orders = try await api.exchange("GET", "/v1/users/ann/orders", key: key).json()["orders"]?.elements
            #expect(orders?.map { $0["transactionId"]?.text } == ["70"])
            #expect(try await api.database.lines("SELECT user_id || ' ' || actor FROM appstore.user_tokens") == ["ann key 1"])
        }
    }

    @Test func `the token of another user, and the number of an order, are conflicts without details`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            #expect(try await api.exchange("PUT", "/v1/users/ann-first/token", key: key, json: Self.body).status == 200)
            let order = #"{"user":"bob","product":"coins","orderNo":"\#(Self.token)"}"#
            let other = try await api.exchange("PUT", "/v1/users/bob/token", key: key, json: Self.body)
            let made = try await api.exchange("POST", "/v1/orders", key: key, json: order)
            #expect((other.status, other.problem) == (409, "token-in-use"))
            #expect(try other.json()["means"]?.text == "user")
            #expect((made.status, made.problem) == (409, "order-conflict"))
            #expect(try made.json()["detail"]?.text?.contains("token of a user") == true)
            #expect(!(other.body + made.body).contains("ann-first"))
            let numbered = try await api.exchange("POST", "/v1/orders", key: key, json: #"{"user":"bob","product":"coins"}"#)
            let no = try numbered.json()["orderNo"]?.text
            let ordered = try await api.exchange("PUT", "/v1/users/bob/token", key: key, json: #"{"token":"\#(no ?? "")"}"#)
            #expect((ordered.status, ordered.problem) == (409, "token-in-use"))
            #expect(try ordered.json()["means"]?.text == "order")
        }
    }

    @Test(arguments: [#"{}"#, #"{"token":"anna"}"#, #"{"token":"3f0c1c9e-6a0e-8c5b-9d0a-5f2f0c5b7a11"}"#])
    func `a token is a UUID, and none of version 8`(body: String) async throws {
        try await RunningAPI.run { api in
            let answer = try await api.exchange("PUT", "/v1/users/ann/token", key: try await api.makeKey(), json: body)
            #expect((answer.status, answer.problem) == (400, "invalid-member"))
        }
    }

    @Test func `a key needs the verb, Production and any app`() async throws {
        try await RunningAPI.run { api in
            let reader = try await api.makeKey([.readOrders])
            let sandbox = try await api.makeKey([.createOrders], environments: [.sandbox])
            let ofApp = try await api.makeKey([.createOrders], apps: ["com.example.app"])
            for (key, problem) in [
                (reader, "verb-not-covered"), (sandbox, "environment-not-covered"), (ofApp, "app-not-covered"),
            ] {
                let answer = try await api.exchange("PUT", "/v1/users/ann/token", key: key, json: Self.body)
                #expect((answer.status, answer.problem) == (403, problem))
            }
        }
    }

    @Test func `the number that a renewal had before version 3 of the schema finds it`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            try await api.database.addCharge("70")
            let no = "317fbd77-7771-8c18-a332-5c9667f421ef"
            try await api.database.change("UPDATE appstore.transactions SET order_no = \(no)::text::uuid, period_no = \(no)::text::uuid")
            for version in [5, 8] {
                let answer = try await api.exchange("GET", "/v1/orders/317fbd77-7771-\(version)c18-a332-5c9667f421ef", key: key)
                #expect(try answer.json()["orderNo"]?.text == no)
            }
            #expect(try await api.exchange("GET", "/v1/orders/317fbd77-7771-4c18-a332-5c9667f421ef", key: key).status == 404)
        }
    }
}
