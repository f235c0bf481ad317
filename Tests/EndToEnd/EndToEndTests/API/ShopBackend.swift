import EndToEndTesting
import Foundation
import PostgresTesting
import StrictJSON

/// The shop's backend: a client of the API with a key.
struct ShopBackend: Sendable {
    let client: HTTPClient
    let key: String

    /// Sends a request with the key.
    func send(_ method: String, _ path: String, _ object: JSONObject? = nil) async throws -> HTTPAnswer {
        var fields = ["authorization": "Bearer \(key)"]
        if object != nil { fields["content-type"] = "application/json" }
        let body = object.map { JSONSerializer.serialize($0) }
        return try await client.connected { [fields] in try $0.exchange(method, path, fields: fields, body: body) }
    }

    func makeOrder(user: String, product: String) async throws -> UUID {
        let answer = try await send("POST", "/v1/orders", ["user": .string(user), "product": .string(product)])
        guard answer.status == 201, let no = try answer.document().text("orderNo").flatMap(UUID.init(uuidString:)) else {
            throw ProgramFailure(what: "no order: \(answer.status)")
        }
        return no
    }

    /// Posts the JWS that StoreKit gave a client of this user.
    func submit(_ jws: [UInt8], user: String?, wait: Int = 10, environment: String? = nil) async throws -> HTTPAnswer {
        var object: JSONObject = ["signedTransaction": .string(String(decoding: jws, as: UTF8.self))]
        object["user"] = user.map { .string($0) }
        object["environment"] = environment.map { .string($0) }
        return try await send("POST", "/v1/transactions?wait=\(wait)", object)
    }

    /// The products that a user may use now.
    func usable(by user: String) async throws -> [String] {
        let answer = try await send("GET", "/v1/users/\(user)/entitlements")
        guard answer.status == 200 else { throw ProgramFailure(what: "no entitlements: \(answer.status)") }
        return try answer.document().documents("entitlements").filter { $0.flag("active") == true }.compactMap { $0.text("product") }
    }
}

extension HTTPAnswer {
    /// The body as a JSON object.
    func document() throws -> JSONDocument { try JSONDocument(String(decoding: body, as: UTF8.self)) }
}

extension Installation {
    /// Starts ingest with the API.
    func startIngestWithAPI(_ settings: [String: String] = [:]) async throws -> (ingest: Ingest, api: HTTPClient) {
        let port = FreePort.find()
        let usual = [
            "APPSTORE_INBOX_API_LISTEN": "127.0.0.1:\(port)", "APPSTORE_INBOX_API_DATABASE_URL": database.url(user: "appstore_api"),
        ]
        return (try await startIngest(usual.merging(settings) { $1 }), HTTPClient(port: port))
    }

    /// Runs `appstore-inbox key …` as an operator.
    func key(_ arguments: [String]) async throws -> Program.Result {
        try await Program.run(["key"] + arguments, settings: ["APPSTORE_INBOX_DATABASE_URL": database.url(user: "appstore_operator")])
    }

    /// Makes a backend with a key for all verbs.
    func makeBackend(_ api: HTTPClient, _ arguments: [String] = []) async throws -> ShopBackend {
        let verbs = [
            "orders:create", "transactions:submit", "receipts:submit", "events:read", "entitlements:read", "subscriptions:read",
            "contracts:link", "feed:read", "feed:consume",
        ]
        let made = try await key(
            ["create", "shop \(UInt32.random(in: .min ... .max))", "--json"] + verbs.flatMap { ["--verb", $0] } + arguments
        )
        guard made.ending == .exit(0), let text = try made.json().text("key") else {
            throw ProgramFailure(what: "key create ended with \(made.ending)", log: made.errors)
        }
        return ShopBackend(client: api, key: text)
    }
}
