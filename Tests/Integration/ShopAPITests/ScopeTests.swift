import AppStore
import FoundationEssentials
import HTTPServingTesting
import InboxTesting
import Postgres
import Testing

@testable import ShopAPI

/// The scope of keys: every operation with every kind of key.
@Suite(.timeLimit(.minutes(2)))
struct ScopeTests {
    /// An operation that succeeds when the key covers it.
    struct Operation: Sendable, CustomTestStringConvertible {
        var verb: Verb
        var method: String
        var path: String
        var json: String?
        var statuses: Set<Int>

        var testDescription: String { "\(method) \(path)" }
    }

    private static let order = #"{"user":"ann","product":"pro.monthly"}"#
    private static let transaction = #"{"signedTransaction":"YQ.YQ.YQ","user":"ann"}"#
    private static let receipt = #"{"receiptData":"MIIB","user":"ann"}"#

    static let operations = [
        Operation(verb: .createOrders, method: "POST", path: "/v1/orders", json: order, statuses: [201]),
        Operation(
            verb: .createOrders,
            method: "PUT",
            path: "/v1/users/ann/token",
            json: #"{"token":"6f1c9a52-0d7e-4d7b-9c55-6a2f3a1f8e02"}"#,
            statuses: [200]
        ),
        Operation(verb: .readOrders, method: "GET", path: "/v1/orders/6f1c9a52-0d7e-4d7b-9c55-6a2f3a1f8e01", statuses: [404]),
        Operation(verb: .readOrders, method: "GET", path: "/v1/users/ann/orders", statuses: [200]),
        Operation(verb: .submitTransactions, method: "POST", path: "/v1/transactions", json: transaction, statuses: [202]),
        Operation(
            verb: .submitTransactions,
            method: "POST",
            path: "/v1/app-transactions",
            json: #"{"signedAppTransaction":"YQ.YQ.YQ","user":"ann"}"#,
            statuses: [202]
        ),
        Operation(verb: .readEntitlements, method: "GET", path: "/v1/users/ann/app-transactions", statuses: [200]),
        Operation(verb: .submitReceipts, method: "POST", path: "/v1/receipts", json: receipt, statuses: [202]),
        Operation(verb: .readEvents, method: "GET", path: "/v1/events/999", statuses: [404]),
        Operation(verb: .readEntitlements, method: "GET", path: "/v1/users/ann/entitlements", statuses: [200]),
        Operation(verb: .readSubscriptions, method: "GET", path: "/v1/subscriptions/70", statuses: [200]),
        Operation(verb: .linkContracts, method: "PUT", path: "/v1/contracts/70/owner", json: #"{"user":"ann"}"#, statuses: [200]),
        Operation(verb: .readFeed, method: "GET", path: "/v1/feed", statuses: [409]),
        Operation(verb: .readFeed, method: "GET", path: "/v1/feed/1", statuses: [404]),
        Operation(verb: .consumeFeed, method: "PUT", path: "/v1/feed/consumers/mailer", json: #"{"cursor":"now"}"#, statuses: [409]),
        Operation(verb: .readFeed, method: "GET", path: "/v1/feed/consumers/mailer", statuses: [404]),
        Operation(verb: .consumeFeed, method: "DELETE", path: "/v1/feed/consumers/mailer", statuses: [404]),
        Operation(verb: .readConsumption, method: "GET", path: "/v1/consumption", statuses: [200]),
        Operation(verb: .readConsumption, method: "GET", path: "/v1/consumption/Production/70", statuses: [404]),
        Operation(
            verb: .answerConsumption,
            method: "PUT",
            path: "/v1/consumption/Production/70",
            json: #"{"consented":false}"#,
            statuses: [404]
        ),
        Operation(verb: .writeConsents, method: "PUT", path: "/v1/users/ann/consent", json: #"{"evidence":"terms"}"#, statuses: [200]),
        Operation(verb: .writeConsents, method: "DELETE", path: "/v1/users/ann/consent", statuses: [204]),
    ]

    @Test func `each verb covers only its own operation`() async throws {
        try await RunningAPI.run { api in
            try await api.database.addCharge("70")
            for verb in Verb.allCases {
                let key = try await api.makeKey([verb])
                for operation in Self.operations {
                    let answer = try await api.exchange(operation.method, operation.path, key: key, json: operation.json)
                    if operation.verb == verb {
                        #expect(operation.statuses.contains(answer.status), "\(verb) on \(operation.path): \(answer.body)")
                    } else {
                        #expect(answer.status == 403, "\(verb) on \(operation.path)")
                        #expect(answer.problem == "verb-not-covered")
                        #expect(try answer.json()["verb"]?.text == operation.verb.rawValue)
                    }
                }
            }
        }
    }

    @Test(arguments: operations)
    func `a missing, an unknown and a revoked key get the same answer`(operation: Operation) async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            try await api.database.withConnection(user: "appstore_operator") { _ = try await KeyRegister($0).revoke(key.id) }
            var generator = SystemRandomNumberGenerator()
            let unknown = APIKey(using: &generator).text
            let forms = [
                nil, "Bearer \(key.text)", "Bearer \(unknown)", "Bearer x", "Bearer", "Basic YTpi", "\(key.text)",
                "Bearer \(key.text), Bearer x",
            ]
            var answers: Set<String> = []
            for authorization in forms {
                let answer = try await api.exchange(operation.method, operation.path, authorization: authorization, json: operation.json)
                #expect(answer.status == 401)
                #expect(answer.headers["www-authenticate"] == #"Bearer realm="appstore-inbox""#)
                answers.insert(answer.body + answer.headers.filter { $0.key != "date" }.sorted { $0.key < $1.key }.description)
            }
            #expect(answers.count == 1)
            #expect(try await api.database.lines("SELECT count(*)::text FROM appstore.inbox") == ["0"])
            #expect(try await api.database.lines("SELECT count(*)::text FROM appstore.orders") == ["0"])
        }
    }

    @Test func `the authorization scheme is case-insensitive`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            let answer = try await api.exchange("GET", "/v1/users/ann/entitlements", authorization: "bEARER \(key.text)")
            #expect(answer.status == 200)
        }
    }

    @Test(
        arguments: operations.filter { operation in
            ![.readEvents, .createOrders, .readFeed, .consumeFeed, .writeConsents].contains(operation.verb)
                && !operation.path.contains("Production")
        }
    )
    func `a key covers only its environments, and Production is the default`(operation: Operation) async throws {
        try await RunningAPI.run { api in
            try await api.database.addCharge("70")
            try await api.database.addCharge("70", environment: .sandbox)
            for own in [AppStoreEnvironment.production, .sandbox] {
                let key = try await api.makeKey(environments: [own])
                for (query, asked) in [
                    ("", AppStoreEnvironment.production), ("?environment=Production", .production), ("?environment=Sandbox", .sandbox),
                ] {
                    let answer = try await api.exchange(operation.method, operation.path + query, key: key, json: operation.json)
                    if asked == own {
                        #expect(operation.statuses.contains(answer.status), "\(own) \(query): \(answer.body)")
                    } else {
                        #expect((answer.status, answer.problem) == (403, "environment-not-covered"), "\(own) \(query)")
                    }
                }
            }
        }
    }

    @Test func `orders need environment Production`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey(environments: [.sandbox])
            let answer = try await api.exchange("POST", "/v1/orders", key: key, json: Self.order)
            #expect((answer.status, answer.problem) == (403, "environment-not-covered"))
        }
    }

    @Test func `a key of one app reads and changes nothing of another`() async throws {
        try await RunningAPI.run { api in
            let token = try await Self.order(api, app: "com.example.tides")
            try await api.database.addCharge("70", app: "com.example.tides", token: token)
            let (own, other) = (try await api.makeKey(apps: ["com.example.tides"]), try await api.makeKey(apps: ["com.example.dunes"]))
            #expect(try await api.exchange("GET", "/v1/subscriptions/70", key: own).status == 200)
            #expect(try await api.exchange("GET", "/v1/subscriptions/70", key: other).problem == "no-such-contract")
            let ours = try await api.exchange("GET", "/v1/users/ann/entitlements", key: own).json()
            #expect(ours["entitlements"]?.elements.count == 1)
            let theirs = try await api.exchange("GET", "/v1/users/ann/entitlements", key: other).json()
            #expect(theirs["entitlements"]?.elements.count == 0)
            let owner = #"{"user":"bob"}"#
            #expect(try await api.exchange("PUT", "/v1/contracts/70/owner", key: other, json: owner).problem == "no-such-contract")
            #expect(try await api.database.lines("SELECT count(*)::text FROM appstore.owner_links") == ["0"])
            #expect(try await api.exchange("PUT", "/v1/contracts/70/owner", key: own, json: owner).status == 200)
        }
    }

    @Test func `the last use is not before the key was made, and written once an hour`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            _ = try await api.exchange("GET", "/v1/users/ann/entitlements", key: key)
            let used = try await api.database.lines(
                "SELECT last_used_at::text FROM appstore.api_keys WHERE last_used_at BETWEEN created_at AND now()"
            )
            #expect(used.count == 1)
            try await api.database.change("UPDATE appstore.api_keys SET last_used_at = last_used_at - interval '1 hour'")
            _ = try await api.exchange("GET", "/v1/users/ann/entitlements", key: key)
            let written = try await api.database.lines("SELECT last_used_at::text FROM appstore.api_keys")
            _ = try await api.exchange("GET", "/v1/users/ann/entitlements", key: key)
            #expect(try await api.database.lines("SELECT last_used_at::text FROM appstore.api_keys") == written)
            #expect(written != used)
        }
    }

    @Test func `an expired key is unauthorized`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey(until: .after(seconds: 3600))
            #expect(try await api.exchange("GET", "/v1/users/ann/entitlements", key: key).status == 200)
            try await api.database.change("UPDATE appstore.api_keys SET expires_at = now()")
            for operation in Self.operations {
                let answer = try await api.exchange(operation.method, operation.path, key: key, json: operation.json)
                #expect((answer.status, answer.problem) == (401, "unauthorized"), "\(operation)")
            }
        }
    }

    private static func order(_ api: RunningAPI, app: String) async throws -> UUID {
        let key = try await api.makeKey(apps: [app])
        let answer = try await api.exchange("POST", "/v1/orders", key: key, json: order)
        return try #require(UUID(uuidString: try answer.json()["orderNo"]?.text ?? ""))
    }
}
