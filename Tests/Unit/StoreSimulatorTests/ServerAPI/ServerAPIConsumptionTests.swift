import AppStore
import StoreSimulator
import StrictJSON
import Testing

/// Send Consumption Information.
struct ServerAPIConsumptionTests {
    private let good: JSONObject = [
        "customerConsented": true, "deliveryStatus": "DELIVERED", "sampleContentProvided": false, "consumptionPercentage": 50_000,
        "refundPreference": "GRANT_PRORATED",
    ]
    private let goodV1: JSONObject = [
        "customerConsented": true, "consumptionStatus": 1, "platform": 2, "sampleContentProvided": false, "deliveryStatus": 3,
        "appAccountToken": "7389a31a-fb6d-4569-a2a6-db7d85d84813", "accountTenure": 4, "playTime": 5, "lifetimeDollarsRefunded": 6,
        "lifetimeDollarsPurchased": 7, "userStatus": 4, "refundPreference": 3,
    ]

    @Test func `an answer within twelve hours counts, and a later one is accepted all the same`() throws {
        var scene = try APIScene()
        var life = try scene.buyer(1)
        scene.api.push(try Genuine.signer.sign(try life.requestConsumption(life.chargeIDs[0])))
        let target = "/inApps/v2/transactions/consumption/\(life.chargeIDs[0])"
        let answer = try scene.ask("PUT", target, good)
        #expect(answer.status == 202 && answer.reply.body.isEmpty)
        scene.now = scene.now.advanced(by: .seconds(12 * 3600 + 2))
        #expect(try scene.ask("PUT", target, good).status == 202)
        #expect(scene.api.consumptions(at: APIScene.place).map(\.isInTime) == [true, false])
        #expect(scene.api.consumptions(at: APIScene.place).first?.body == good)
    }

    @Test(
        arguments: [
            ("customerConsented", false, 4_000_035), ("customerConsented", nil, 4_000_035), ("deliveryStatus", "LOST", 4_000_036),
            ("deliveryStatus", 0, 4_000_036), ("deliveryStatus", nil, 4_000_036), ("sampleContentProvided", nil, 4_000_041),
            ("consumptionPercentage", -1, 4_000_991), ("consumptionPercentage", 100_001, 4_000_991),
            ("deliveryStatus", "UNDELIVERED_OTHER", 4_000_992), ("refundPreference", "PERHAPS", 4_000_044),
            ("consumptionPercentage", 0, 4_000_044), ("consumptionPercentage", 100_000, 4_000_044),
            ("consumptionPercentage", nil, 4_000_044),
        ] as [(String, JSONValue?, Int64)]
    )
    func `each rule of version 2 has its code`(name: String, value: JSONValue?, code: Int64) throws {
        var scene = try APIScene()
        let life = try scene.buyer(1)
        var body = good
        body[name] = value
        let answer = try scene.ask("PUT", "/inApps/v2/transactions/consumption/\(life.chargeIDs[0])", body)
        #expect(answer.status == 400 && answer.code == code)
        #expect(scene.api.consumptions(at: APIScene.place).isEmpty)
    }

    @Test func `a subscription has no percentage, and can be granted in part without one`() throws {
        var scene = try APIScene()
        let life = try scene.subscriber()
        let target = "/inApps/v2/transactions/consumption/\(try #require(life.subscription).current.transactionID)"
        #expect(try scene.ask("PUT", target, good).code == 4_000_209)
        var body = good
        body["consumptionPercentage"] = nil
        #expect(try scene.ask("PUT", target, body).status == 202)
        body["deliveryStatus"] = "UNDELIVERED_SERVER_OUTAGE"
        #expect(try scene.ask("PUT", target, body).status == 202)
    }

    @Test func `family members, unknown transactions and bodies without JSON are refused`() throws {
        var scene = try APIScene()
        let parent = try scene.subscriber()
        var member = scene.store.makeFamilyMember(of: parent)
        _ = try member.subscribe()
        scene.api.hold(member, at: scene.now)
        let shared = try #require(member.subscription).current.transactionID
        #expect(try scene.ask("PUT", "/inApps/v2/transactions/consumption/\(shared)", good).code == 4_000_185)
        #expect(try scene.ask("PUT", "/inApps/v2/transactions/consumption/1", good).code == 4_040_010)
        #expect(try scene.ask("PUT", "/inApps/v2/transactions/consumption/x", good).code == 4_000_006)
        #expect(try scene.ask("PUT", "/inApps/v2/transactions/consumption/\(shared)").code == 4_000_000)
    }

    @Test func `version 1 is for Advanced Commerce only, and version 2 for the rest`() throws {
        var scene = try APIScene()
        var life = try scene.subscriber()
        let id = try #require(life.subscription).current.transactionID
        #expect(try scene.ask("PUT", "/inApps/v1/transactions/consumption/\(id)", goodV1).code == 4_000_047)
        _ = try life.migrate()
        scene.api.hold(life, at: scene.now)
        #expect(try scene.ask("PUT", "/inApps/v1/transactions/consumption/\(id)", goodV1).status == 202)
        #expect(try scene.ask("PUT", "/inApps/v2/transactions/consumption/\(id)", good).code == 4_000_993)
    }

    @Test(
        arguments: [
            ("customerConsented", false, 4_000_035), ("consumptionStatus", 4, 4_000_034), ("platform", 3, 4_000_039),
            ("sampleContentProvided", "no", 4_000_041), ("deliveryStatus", 6, 4_000_036), ("appAccountToken", "anna", 4_000_033),
            ("accountTenure", 8, 4_000_032), ("playTime", -1, 4_000_040), ("lifetimeDollarsRefunded", 8, 4_000_038),
            ("lifetimeDollarsPurchased", 8, 4_000_037), ("userStatus", 5, 4_000_042), ("refundPreference", 4, 4_000_044),
        ] as [(String, JSONValue, Int64)]
    )
    func `each rule of version 1 has its code`(name: String, value: JSONValue, code: Int64) throws {
        var scene = try APIScene()
        var life = try scene.subscriber()
        _ = try life.migrate()
        scene.api.hold(life, at: scene.now)
        var body = goodV1
        body[name] = value
        let id = try #require(life.subscription).current.transactionID
        #expect(try scene.ask("PUT", "/inApps/v1/transactions/consumption/\(id)", body).code == code)
    }
}
