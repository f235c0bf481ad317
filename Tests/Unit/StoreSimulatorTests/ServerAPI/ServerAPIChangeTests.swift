import AppStore
import FoundationEssentials
import StoreSimulator
import StrictJSON
import Testing

/// Calls that change what the store knows.
struct ServerAPIChangeTests {
    private let extend: JSONObject = ["extendByDays": 45, "extendReasonCode": 1, "requestIdentifier": "fdf964a4"]
    private let token = "7389a31a-fb6d-4569-a2a6-db7d85d84813"

    @Test func `a token is set for a contract and for a one-time charge`() throws {
        var scene = try APIScene()
        let (subscriber, buyer) = (try scene.subscriber(), try scene.buyer(1))
        for id in [try #require(subscriber.subscription).originalTransactionID, buyer.chargeIDs[0]] {
            let answer = try scene.ask("PUT", "/inApps/v1/transactions/\(id)/appAccountToken", ["appAccountToken": .string(token)])
            #expect(answer.status == 200 && answer.reply.body.isEmpty)
            let info = try #require(try scene.ask("GET", "/inApps/v1/transactions/\(id)").json["signedTransactionInfo"]?.payload)
            #expect(info["appAccountToken"]?.string == token)
        }
        let life = scene.api.life(of: subscriber.appTransactionID, at: APIScene.place)
        #expect(life?.subscription?.appAccountToken == UUID(uuidString: token))
    }

    @Test func `a token is refused that is no UUID, or for a family member or a later transaction`() throws {
        var scene = try APIScene()
        var life = try scene.subscriber()
        _ = try life.renew()
        scene.api.hold(life, at: scene.now)
        var member = scene.store.makeFamilyMember(of: life)
        _ = try member.subscribe()
        scene.api.hold(member, at: scene.now)
        let subscription = try #require(life.subscription)
        let shared = try #require(member.subscription).originalTransactionID
        let body: JSONObject = ["appAccountToken": .string(token)]
        func code(_ id: String, _ body: JSONObject) throws -> Int64? {
            var scene = scene
            return try scene.ask("PUT", "/inApps/v1/transactions/\(id)/appAccountToken", body).code
        }
        #expect(try code(subscription.originalTransactionID, ["appAccountToken": "anna"]) == 4_000_183)
        #expect(try code(subscription.originalTransactionID, [:]) == 4_000_183)
        #expect(try code(shared, body) == 4_000_185)
        #expect(try code(subscription.current.transactionID, body) == 4_000_187)
        #expect(try code("1", body) == 4_040_010)
    }

    @Test func `a renewal is extended twice a year, and RENEWAL_EXTENDED is sent`() throws {
        var scene = try APIScene()
        let life = try scene.subscriber()
        let subscription = try #require(life.subscription)
        let target = "/inApps/v1/subscriptions/extend/\(subscription.originalTransactionID)"
        let answer = try scene.ask("PUT", target, extend)
        let date = subscription.expiresDate.advanced(byDays: 45)
        #expect(answer.json["success"]?.bool == true && answer.json["effectiveDate"]?.integer == date.millisecondsSince1970)
        #expect(answer.json["webOrderLineItemId"]?.string == subscription.current.webOrderLineItemID)
        #expect(try scene.ask("PUT", target, extend).status == 200)
        let third = try scene.ask("PUT", target, extend)
        #expect(third.status == 403 && third.code == 4_030_005)
        let sent = scene.api.takeUnsent().map(\.notification)
        #expect(sent.map(\.type) == [.renewalExtended, .renewalExtended] && sent[0].transaction?.expiresDate == date)
        #expect(scene.api.takeUnsent().isEmpty)
    }

    @Test func `an extension needs a paid period and a valid request`() throws {
        var scene = try APIScene()
        let buyer = try scene.buyer(1)
        var trial = scene.store.makeCustomer()
        _ = try trial.subscribe(offer: .freeWeek)
        scene.api.hold(trial, at: scene.now)
        var member = scene.store.makeFamilyMember(of: trial)
        _ = try member.subscribe()
        scene.api.hold(member, at: scene.now)
        let (paid, base) = (try scene.subscriber(), "/inApps/v1/subscriptions/extend")
        let id = try #require(paid.subscription).originalTransactionID
        #expect(try scene.ask("PUT", "\(base)/\(try #require(trial.subscription).originalTransactionID)", extend).code == 4_030_004)
        #expect(try scene.ask("PUT", "\(base)/\(try #require(member.subscription).originalTransactionID)", extend).code == 4_030_007)
        #expect(try scene.ask("PUT", "\(base)/\(buyer.chargeIDs[0])", extend).code == 4_040_005)
        #expect(try scene.ask("PUT", "\(base)/x", extend).code == 4_000_008)
        for (name, value, code) in [
            ("extendByDays", 91, 4_000_009), ("extendByDays", 0, 4_000_009), ("extendReasonCode", 4, 4_000_010),
            ("requestIdentifier", "", 4_000_011),
        ] as [(String, JSONValue, Int64)] {
            var body = extend
            body[name] = value
            #expect(try scene.ask("PUT", "\(base)/\(id)", body).code == code)
        }
        scene.now = scene.now.advanced(byDays: 40)
        #expect(try scene.ask("PUT", "\(base)/\(id)", extend).code == 4_030_004)
    }

    @Test func `an extension for all sends a result for each customer and a summary`() throws {
        var scene = try APIScene()
        scene.api.options.massExtensionTime = .seconds(60)
        _ = try scene.subscriber()
        var ended = try scene.subscriber()
        let product = try #require(ended.subscription).current.product.id
        _ = try ended.refund()
        scene.api.hold(ended, at: scene.now)
        var body = extend
        body["productId"] = .string(product)
        body["storefrontCountryCodes"] = ["USA", "MEX"]
        let answer = try scene.ask("POST", "/inApps/v1/subscriptions/extend/mass", body)
        #expect(answer.json["requestIdentifier"]?.string == "fdf964a4")
        let target = "/inApps/v1/subscriptions/extend/mass/\(product)/fdf964a4"
        #expect(try scene.ask("GET", target).json == ["requestIdentifier": "fdf964a4", "complete": false])
        scene.now = scene.now.advanced(by: .seconds(60))
        let done = try scene.ask("GET", target).json
        #expect(done["complete"]?.bool == true && done["succeededCount"]?.integer == 1 && done["failedCount"]?.integer == 1)
        let sent = scene.api.takeUnsent().map { NotificationKind($0.notification.type, $0.notification.subtype).description }
        #expect(sent.sorted() == ["RENEWAL_EXTENDED", "RENEWAL_EXTENSION/FAILURE", "RENEWAL_EXTENSION/SUMMARY"])
        #expect(try scene.ask("GET", "/inApps/v1/subscriptions/extend/mass/\(product)/other").code == 4_040_009)
    }

    @Test func `an extension for all is refused for wrong products and storefronts`() throws {
        var scene = try APIScene()
        var body = extend
        #expect(try scene.ask("POST", "/inApps/v1/subscriptions/extend/mass", body).code == 4_000_023)
        body["productId"] = "a"
        for (list, code) in [([], 4_000_027), (["usa"], 4_000_028), ([1], 4_000_028)] as [(JSONValue, Int64)] {
            body["storefrontCountryCodes"] = list
            #expect(try scene.ask("POST", "/inApps/v1/subscriptions/extend/mass", body).code == code)
        }
    }
}
