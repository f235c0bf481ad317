import AppStore
import Randomness
import StoreSimulator
import StrictJSON
import Testing

/// Notification History and tests.
struct ServerAPINotificationTests {
    private let target = "/inApps/v1/notifications/history"

    /// The body for a window of so many hours until now.
    private func window(_ scene: APIScene, hours: Int64 = 24 * 30) -> JSONObject {
        let end = scene.now.millisecondsSince1970
        return ["startDate": .integer(end - hours * 3_600_000), "endDate": .integer(end)]
    }

    private func ask(_ scene: inout APIScene, _ body: JSONObject, token: String? = nil) throws -> APIScene.Answer {
        try scene.ask("POST", target + (token.map { "?paginationToken=\($0)" } ?? ""), body)
    }

    /// Reads all pages.
    private func walk(_ scene: inout APIScene, _ body: JSONObject) throws -> [[JSONObject]] {
        var (pages, token) = ([[JSONObject]](), String?.none)
        repeat {
            let answer = try ask(&scene, body, token: token)
            pages.append((answer.json["notificationHistory"]?.list ?? []).compactMap(\.object))
            token = answer.json["paginationToken"]?.string
            #expect((token != nil) == (answer.json["hasMore"]?.bool == true))
        } while token != nil
        return pages
    }

    /// Pushes of one customer, an hour apart, with a fate each.
    private func push(_ fates: [PushFate], _ scene: inout APIScene) throws -> [SignedNotification] {
        var life = scene.store.makeCustomer()
        life.advance(to: scene.now)
        let product = try #require(life.catalogue.oneTimeProducts.first)
        let signed = try fates.map { fate in
            let signed = try Genuine.signer.sign(try life.buy(product))
            scene.api.push(signed, fate: fate)
            life.advance(by: .seconds(3600))
            return signed
        }
        scene.now = life.now
        scene.api.hold(life, at: scene.now)
        return signed
    }

    @Test func `history has twenty notifications a page, oldest first, byte for byte as pushed`() throws {
        var scene = try APIScene()
        let sent = try push(Array(repeating: .delivered, count: 45), &scene)
        let pages = try walk(&scene, window(scene))
        #expect(pages.map(\.count) == [20, 20, 5])
        #expect(pages.joined().map { $0["signedPayload"]?.string } == sent.map { String(decoding: $0.jws, as: UTF8.self) })
        let attempts = try #require(pages[0][0]["sendAttempts"]?.list?.map(\.object))
        #expect(attempts == [["attemptDate": .timestamp(sent[0].notification.signedDate), "sendAttemptResult": "SUCCESS"]])
    }

    @Test func `a window includes its start and excludes its end, and an end in the future is now`() throws {
        var scene = try APIScene()
        let dates = try push(Array(repeating: .delivered, count: 3), &scene).map(\.notification.signedDate.millisecondsSince1970)
        #expect(try walk(&scene, ["startDate": .integer(dates[0]), "endDate": .integer(dates[2])]).map(\.count) == [2])
        #expect(try walk(&scene, ["startDate": .integer(dates[0] + 1), "endDate": 9_999_999_999_999]).map(\.count) == [2])
    }

    @Test func `a token is for one body, for some time`() throws {
        var scene = try APIScene()
        _ = try push(Array(repeating: .delivered, count: 25), &scene)
        let body = window(scene)
        let token = try #require(try ask(&scene, body).json["paginationToken"]?.string)
        let swapped = JSONObject(body.members.reversed().map { ($0.name, $0.value) })
        #expect(try ask(&scene, swapped, token: token).json["notificationHistory"]?.list?.count == 5)
        var other = body
        other["onlyFailures"] = false
        #expect(try ask(&scene, other, token: token).code == 4_000_017)
        #expect(try ask(&scene, body, token: "t1").code == 4_000_014)
        scene.now = scene.now.advanced(by: .seconds(86_400))
        #expect(try ask(&scene, body, token: token).code == 4_000_017)
    }

    @Test(
        arguments: [
            ("startDate", nil, 4_000_015), ("startDate", "1", 4_000_015), ("endDate", -1, 4_000_016), ("endDate", 1, 4_000_013),
            ("startDate", 1, 4_000_012), ("transactionId", "x", 4_000_006), ("transactionId", "1", 4_040_010),
            ("notificationType", "PARTY", 4_000_018), ("notificationType", 7, 4_000_018), ("notificationSubtype", "UPGRADE", 4_000_018),
            ("onlyFailures", "yes", 4_000_000),
        ] as [(String, JSONValue?, Int64)]
    )
    func `wrong members are refused with their codes`(name: String, value: JSONValue?, code: Int64) throws {
        var scene = try APIScene()
        var body = window(scene)
        body[name] = value
        #expect(try ask(&scene, body).code == code)
    }

    @Test func `the edge is 180 days, 30 in Sandbox, or shorter on demand`() throws {
        var scene = try APIScene()
        #expect(try ask(&scene, window(scene, hours: 180 * 24)).status == 200)
        #expect(try ask(&scene, window(scene, hours: 180 * 24 + 1)).code == 4_000_012)
        #expect(try scene.ask("POST", target, window(scene, hours: 30 * 24), in: .sandbox).status == 200)
        #expect(try scene.ask("POST", target, window(scene, hours: 30 * 24 + 1), in: .sandbox).code == 4_000_012)
        scene.api.options.edgeShortening = .seconds(10 * 86_400)
        #expect(try ask(&scene, window(scene, hours: 171 * 24)).code == 4_000_012)
    }

    @Test func `filters are a type or a customer, and failures are those that were not delivered`() throws {
        var scene = try APIScene()
        let sent = try push([.delivered, .givenUp, .retried(failures: 2), .takenElsewhere, .listedUnattempted], &scene)
        _ = try scene.subscriber()
        func count(_ members: JSONObject) throws -> Int {
            var (scene, body) = (scene, window(scene, hours: 24 * 60))
            for member in members.members { body[member.name] = member.value }
            return try walk(&scene, body).joined().count
        }
        scene.now = scene.now.advanced(by: .seconds(1))
        #expect(try count([:]) == 6)
        #expect(try count(["notificationType": "SUBSCRIBED"]) == 1)
        #expect(try count(["notificationType": "SUBSCRIBED", "notificationSubtype": "RESUBSCRIBE"]) == 0)
        let id = try #require(sent[0].notification.transactionID)
        #expect(try count(["transactionId": .string(id)]) == 5)
        #expect(try count(["onlyFailures": true]) == 2)
        scene.now = scene.now.advanced(byDays: 10)
        #expect(try count(["onlyFailures": true]) == 1)
        var body = window(scene)
        (body["notificationType"], body["transactionId"]) = ("TEST", .string(id))
        #expect(try ask(&scene, body).code == 4_000_019)
    }

    @Test func `each fate lists what was attempted until now`() throws {
        var scene = try APIScene()
        let fates: [PushFate] = [.observed, .delivered, .retried(failures: 2), .givenUp, .unlisted, .listedUnattempted, .takenElsewhere]
        let sent = try push(fates, &scene)
        scene.now = scene.now.advanced(byDays: 10)
        func results() throws -> [String: [String]] {
            var scene = scene
            let records = try walk(&scene, window(scene)).joined().map { record in
                let attempts = record["sendAttempts"]?.list?.compactMap { $0.object?["sendAttemptResult"]?.string } ?? []
                return (record["signedPayload"]?.string ?? "", attempts)
            }
            return Dictionary(uniqueKeysWithValues: records)
        }
        let names = sent.map { String(decoding: $0.jws, as: UTF8.self) }
        let failure = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
        let expected: [[String]?] = [
            nil, ["SUCCESS"], [failure, failure, "SUCCESS"], Array(repeating: failure, count: 6), nil, [], ["SUCCESS"],
        ]
        #expect(try names.map { try results()[$0] } == expected)
        let attempt = PushAttempt(date: scene.now, result: .timedOut)
        let isKnown = scene.api.record(attempt, of: sent[0].notification.notificationUUID, at: APIScene.place)
        #expect(isKnown)
        #expect(try results()[names[0]] == ["TIMED_OUT"])
        let uuids = [0, 1, 2, 3, 5, 6].map { sent[$0].notification.notificationUUID }
        #expect(scene.api.listed(at: APIScene.place, on: scene.now) == uuids)
        let early = sent[2].notification.signedDate.advanced(by: .seconds(3600))
        #expect(
            scene.api.attempts(of: uuids[2], at: APIScene.place, until: early).map(\.result) == [.unsuccessfulStatus, .unsuccessfulStatus]
        )
        let isKnownInSandbox = scene.api.record(attempt, of: sent[0].notification.notificationUUID, at: APIScene.sandbox)
        #expect(!isKnownInSandbox)
    }

    @Test func `retries come after 1, 12, 24, 48 and 72 hours, and Sandbox has none`() {
        let start = Timestamp.testNow
        let attempts = PushFate.givenUp.attempts(from: start, in: .production, failingWith: .tlsIssue)
        #expect(attempts.map { ($0.date.millisecondsSince1970 - start.millisecondsSince1970) / 3_600_000 } == [0, 1, 13, 37, 85, 157])
        #expect(attempts.allSatisfy { $0.result == .tlsIssue && $0.destination == .inbox })
        #expect(PushFate.retried(failures: 1).attempts(from: start, in: .sandbox).map(\.result) == [.unsuccessfulStatus])
        #expect(PushFate.takenElsewhere.attempts(from: start, in: .sandbox).map(\.destination) == [.elsewhere])
    }

    @Test func `a record can be listed late, and filtered by its first attempt`() throws {
        var scene = try APIScene()
        var life = scene.store.makeCustomer()
        let signed = try Genuine.signer.sign(try life.subscribe())
        scene.api.push(signed, listedAfter: .seconds(300))
        scene.now = scene.now.advanced(by: .seconds(7200))
        let attempt = PushAttempt(date: scene.now, result: .success)
        scene.api.record(attempt, of: signed.notification.notificationUUID, at: APIScene.place)
        let body: JSONObject = ["startDate": .timestamp(scene.now), "endDate": 9_999_999_999_999]
        scene.now = scene.now.advanced(by: .seconds(299))
        scene.api.options.historyDate = .firstAttempt
        #expect(try walk(&scene, body).map(\.count) == [0])
        scene.now = scene.now.advanced(by: .seconds(1))
        #expect(try walk(&scene, body).map(\.count) == [1])
        scene.api.options.historyDate = .signedDate
        #expect(try walk(&scene, body).map(\.count) == [0])
    }

    @Test func `what happens to a customer changes answers and history together`() throws {
        var scene = try APIScene()
        let life = try scene.subscriber()
        let id = try #require(life.subscription).originalTransactionID
        let signed = try #require(try scene.api.live(id, at: APIScene.place, fate: .delivered) { try $0.turnAutoRenewOff() })
        let silent = try scene.api.live(id, at: APIScene.place) { life in
            try life.reissueTransactionID()
            return nil
        }
        #expect(silent == nil && scene.api.life(of: id, at: APIScene.place)?.subscription?.autoRenews == false)
        scene.now = signed.notification.signedDate.advanced(by: .seconds(1))
        #expect(try walk(&scene, window(scene)).joined().last?["signedPayload"]?.string == String(decoding: signed.jws, as: UTF8.self))
        #expect(try scene.ask("GET", "/inApps/v2/history/\(id)").ids.count == 2)
        #expect(throws: ServerAPIError.self) { try scene.api.live("1", at: APIScene.place) { _ in nil } }
    }

    @Test func `a test is sent and its status is told after the first attempt`() throws {
        var scene = try APIScene()
        let token = try #require(try scene.ask("POST", "/inApps/v1/notifications/test").json["testNotificationToken"]?.string)
        #expect(try scene.ask("GET", "/inApps/v1/notifications/test/\(token)").code == 4_040_008)
        let sent = try #require(scene.api.takeUnsent().first)
        #expect(sent.notification.type == .test)
        let attempt = PushAttempt(date: scene.now, result: .success)
        scene.api.record(attempt, of: sent.notification.notificationUUID, at: APIScene.place)
        let status = try scene.ask("GET", "/inApps/v1/notifications/test/\(token)").json
        #expect(status["signedPayload"]?.string == String(decoding: sent.jws, as: UTF8.self))
        #expect(status["sendAttempts"]?.list?.first?.object?["sendAttemptResult"]?.string == "SUCCESS")
        #expect(try scene.ask("GET", "/inApps/v1/notifications/test/T").code == 4_000_020)
        scene.api.apps[0].addresses[.sandbox] = nil
        #expect(try scene.ask("POST", "/inApps/v1/notifications/test", in: .sandbox).code == 4_040_007)
    }

    @Test func `the same seed gives the same tokens, pages and fates`() throws {
        func run() throws -> [String] {
            var scene = try APIScene(seed: 9)
            var generator = SeededGenerator(seed: 9)
            let fates = (0..<60).map { _ in PushFate.random(using: &generator) }
            _ = try push(fates, &scene)
            let page = try ask(&scene, window(scene))
            let test = try scene.ask("POST", "/inApps/v1/notifications/test")
            return fates.map { "\($0)" } + [
                page.json["paginationToken"]?.string ?? "", test.json["testNotificationToken"]?.string ?? "",
                page.header("x-apple-request-uuid") ?? "", scene.key.id, scene.key.issuer,
            ]
        }
        let first = try run()
        #expect(try run() == first && !first.contains(""))
        #expect(Set(first).count > 10)
    }
}
