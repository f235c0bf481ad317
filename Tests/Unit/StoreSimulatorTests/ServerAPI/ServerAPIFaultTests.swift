import AppStore
import StoreSimulator
import StrictJSON
import Testing

/// Faults by script.
struct ServerAPIFaultTests {
    private let history = "/inApps/v1/notifications/history"

    /// A scene with thirty purchases, and the body of a request for their notifications.
    private func scene() throws -> (scene: APIScene, life: CustomerLife, body: JSONObject) {
        var scene = try APIScene()
        let life = try scene.buyer(30)
        scene.now = scene.now.advanced(by: .seconds(1))
        let end = scene.now.millisecondsSince1970
        return (scene, life, ["startDate": .integer(end - 40 * 3_600_000), "endDate": .integer(end)])
    }

    @Test func `faults are met in their order, by the calls that they are for`() throws {
        var (scene, life, _) = try scene()
        scene.api.faults.add(.error(5_000_000), to: .transactionInfo, times: 2)
        scene.api.faults.add(.error(4_040_010), to: .transactionInfo)
        scene.api.faults.add(.page(status: 503, retryAfter: "30"), to: .transactionHistory, times: nil) { $0.environment == .production }
        let (info, list) = ("/inApps/v1/transactions/\(life.chargeIDs[0])", "/inApps/v2/history/\(life.chargeIDs[0])")
        let gateway = try scene.ask("GET", list)
        #expect(gateway.status == 503 && gateway.header("retry-after") == "30" && gateway.header("content-type") == "text/html")
        #expect(try (0..<4).map { _ in try scene.ask("GET", info).status } == [500, 500, 404, 200])
        #expect(try scene.ask("GET", list, in: .sandbox).code == 4_040_010)
        #expect(try scene.ask("GET", list).status == 503 && scene.api.faults.count == 1)
        scene.api.faults.removeAll()
        #expect(try scene.ask("GET", list).status == 200)
        // Calls that fail are counted all the same.
        #expect(scene.api.limits.uses(of: .transactionInfo, at: APIScene.place).map(\.granted) == [4])
    }

    @Test func `a call is replaced by 401, a redirect, an unknown code or a reset`() throws {
        var (scene, _, body) = try scene()
        scene.api.faults.add(.unauthorized)
        scene.api.faults.add(.redirect(to: "https://elsewhere.example/"))
        scene.api.faults.add(.error(9_990_000))
        scene.api.faults.add(.reset)
        let empty = try scene.ask("POST", history, body)
        #expect(empty.status == 401 && empty.reply.body.isEmpty)
        let redirect = try scene.ask("POST", history, body)
        #expect(redirect.status == 302 && redirect.header("location") == "https://elsewhere.example/")
        let unknown = try scene.ask("POST", history, body)
        #expect(unknown.status == 400 && unknown.code == 9_990_000)
        #expect(try scene.ask("POST", history, body).reply.manner == .reset)
    }

    @Test func `a page is altered after the call`() throws {
        var (scene, _, body) = try scene()
        let faults: [ServerAPIFault] = [
            .emptyPage, .withoutToken, .repeatedToken, .member("hasMore", nil), .unknownMembers, .unknownValues, .padded(to: 5_000_000),
            .manner(.cut(after: 100)),
        ]
        for fault in faults { scene.api.faults.add(fault, to: .notificationHistory) }
        let token = try #require(try APIScene.token(scene, history, body))
        let answers = try faults.map { _ in try scene.ask("POST", "\(history)?paginationToken=\(token)", body) }
        #expect(answers[0].json["hasMore"]?.bool == true && answers[0].json["notificationHistory"]?.list == [])
        let next = try #require(answers[0].json["paginationToken"]?.string)
        #expect(next != token)
        #expect(try scene.ask("POST", "\(history)?paginationToken=\(next)", body).json["notificationHistory"]?.list?.count == 10)
        #expect(answers[1].json["hasMore"]?.bool == true && answers[1].json["paginationToken"] == nil)
        #expect(answers[2].json["hasMore"]?.bool == true && answers[2].json["paginationToken"]?.string == token)
        #expect(answers[3].json["hasMore"] == nil && answers[3].json["notificationHistory"]?.list?.count == 10)
        let record = try #require(answers[4].json["notificationHistory"]?.list?.first?.object)
        #expect(record["addedLater"] != nil && answers[4].json["addedLater"] != nil)
        let attempt = answers[5].json["notificationHistory"]?.list?.first?.object?["sendAttempts"]?.list?.first?.object
        #expect(attempt?["sendAttemptResult"]?.string == "SOMETHING_NEW")
        #expect(answers[6].reply.body.count == 5_000_000 && answers[6].json["hasMore"]?.bool == false)
        #expect(answers[7].reply.manner == .cut(after: 100))
    }

    @Test func `pages of transactions repeat their revision, and statuses name another app`() throws {
        var (scene, life, _) = try scene()
        let target = "/inApps/v2/history/\(life.chargeIDs[0])"
        let revision = try #require(try scene.ask("GET", target).json["revision"]?.string)
        scene.api.faults.add(.emptyPage)
        let empty = try scene.ask("GET", target).json
        let next = try #require(empty["revision"]?.string)
        #expect(empty["hasMore"]?.bool == true && empty["signedTransactions"]?.list == [] && next != revision)
        #expect(try scene.ask("GET", "\(target)?revision=\(next)").ids == Array(life.chargeIDs.prefix(20)))
        scene.api.faults.add(.repeatedToken)
        scene.api.faults.add(.member("bundleId", "com.other"))
        let again = try scene.ask("GET", "\(target)?revision=\(revision)")
        #expect(again.json["revision"]?.string == revision && again.json["hasMore"]?.bool == true)
        #expect(try scene.ask("GET", "/inApps/v1/subscriptions/\(life.chargeIDs[0])").json["bundleId"]?.string == "com.other")
    }

    @Test func `Date can be wrong, and faults leave errors and effects as they are`() throws {
        var (scene, life, body) = try scene()
        scene.api.faults.add(.date(skewedBy: .seconds(-3600)))
        #expect(try scene.ask("POST", history, body).header("date") == "Tue, 31 Mar 2026 07:00:01 GMT")
        scene.api.faults.add(.manner(.never))
        let consumption: JSONObject = ["customerConsented": true, "deliveryStatus": "DELIVERED", "sampleContentProvided": true]
        let lost = try scene.ask("PUT", "/inApps/v2/transactions/consumption/\(life.chargeIDs[0])", consumption)
        #expect(lost.reply.manner == .never && scene.api.consumptions(at: APIScene.place).count == 1)
    }
}

extension APIScene {
    /// The token of the first page, without using up a fault.
    fileprivate static func token(_ scene: APIScene, _ target: String, _ body: JSONObject) throws -> String? {
        var scene = scene
        scene.api.faults.removeAll()
        return try scene.ask("POST", target, body).json["paginationToken"]?.string
    }
}
