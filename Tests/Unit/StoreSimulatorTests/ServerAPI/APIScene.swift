import AppStore
import StoreSimulator
import StrictJSON
import Testing

/// A simulated API without a server, with one app, one key and a clock.
struct APIScene {
    static let place = ServerAPIPlace(SimulatedApp.test.bundleID, .production)
    static let sandbox = ServerAPIPlace(SimulatedApp.test.bundleID, .sandbox)

    var api: SimulatedServerAPI
    var store: SimulatedStore
    var now = Timestamp.testNow
    let key: ServerAPIKey

    init(seed: UInt64 = 1, _ app: SimulatedApp = .test) throws {
        key = try ServerAPIKey.generate(seed: seed)
        let known = SimulatedServerAPI.App(bundleID: app.bundleID, appAppleID: app.appAppleID, issuer: key.issuer)
        api = SimulatedServerAPI(apps: [known], keys: [key], signer: try Genuine.signer, seed: seed)
        store = .test(app, seed: seed)
    }

    /// An answer, with its JSON.
    struct Answer {
        let reply: SimulatedReply
        let json: JSONObject

        init(_ reply: SimulatedReply) {
            self.reply = reply
            do {
                json = try JSONParser().parseObject(reply.body)
            } catch {
                json = [:]
            }
        }

        var status: Int { reply.status }
        var code: Int64? { json["errorCode"]?.integer }
        func header(_ name: String) -> String? { reply.headers.first { $0.name == name }?.value }
        /// The payloads of a list of JWS.
        func payloads(_ name: String = "signedTransactions") throws -> [JSONObject] { try (json[name]?.list ?? []).map { try $0.payload } }
        /// The transactionIds of a page.
        var ids: [String] { get throws { try payloads().compactMap { $0["transactionId"]?.string } } }
    }

    mutating func ask(
        _ method: String,
        _ target: String,
        _ body: JSONObject? = nil,
        in environment: AppStoreEnvironment = .production,
        token: String? = nil
    ) throws -> Answer {
        let token = try token ?? key.token(for: SimulatedApp.test.bundleID, at: now)
        let bytes = body.map { JSONSerializer.serialize($0) } ?? []
        return Answer(api.reply(to: ServerAPIRequest(method, target, in: environment, token: token, body: bytes), at: now))
    }

    /// A customer that has subscribed.
    mutating func subscriber() throws -> CustomerLife {
        var life = store.makeCustomer()
        api.push(try Genuine.signer.sign(try life.subscribe()), fate: .delivered)
        api.hold(life, at: now)
        return life
    }

    /// A customer with a number of one-time purchases, an hour apart, the last of them now.
    mutating func buyer(_ count: Int, _ type: ProductType = .consumable) throws -> CustomerLife {
        store.now = now.advanced(by: .seconds(-3600 * (count - 1)))
        var life = store.makeCustomer()
        let product = try #require(life.catalogue.oneTimeProducts.first { $0.type == type })
        for number in 0..<count {
            if number > 0 { life.advance(by: .seconds(3600)) }
            api.push(try Genuine.signer.sign(try life.buy(product)), fate: .delivered)
        }
        api.hold(life, at: now)
        return life
    }
}

extension JSONValue {
    var string: String? { if case .string(let text) = self { text } else { nil } }
    var integer: Int64? { if case .number(let number) = self { number.int64 } else { nil } }
    var bool: Bool? { if case .bool(let flag) = self { flag } else { nil } }
    var list: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
    var object: JSONObject? { if case .object(let object) = self { object } else { nil } }
    /// The payload of a JWS.
    var payload: JSONObject { get throws { try CompactJWS(Array((string ?? "").utf8)).object } }
}

extension CustomerLife {
    /// The identifiers of the one-time purchases, in their order.
    var chargeIDs: [String] { oneTimeCharges.map(\.transactionID) }
}
