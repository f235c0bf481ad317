import AppStore
import StoreSimulator
import Testing

/// The hourly limits of the simulated API.
struct ServerAPILimitTests {
    private let target = "/inApps/v1/notifications/test/0"

    private func scene(_ retryAfter: ServerAPILimits.RetryAfter = .unixMilliseconds) throws -> APIScene {
        var scene = try APIScene()
        scene.now = Timestamp(millisecondsSince1970: 1_774_944_003_000)
        scene.api.limits.hour = .seconds(10)
        scene.api.limits.allowances[.testNotificationStatus] = 20
        scene.api.limits.retryAfter = retryAfter
        return scene
    }

    @Test func `calls above the limit get 429 until the hour ends`() throws {
        var scene = try scene()
        for _ in 0..<20 { #expect(try scene.ask("GET", target).status == 400) }
        let refused = try scene.ask("GET", target)
        #expect(refused.status == 429 && refused.code == 4_290_000)
        #expect(refused.header("retry-after") == "1774944010000")
        scene.now = Timestamp(millisecondsSince1970: 1_774_944_009_999)
        #expect(try scene.ask("GET", target).status == 429)
        scene.now = Timestamp(millisecondsSince1970: 1_774_944_010_000)
        #expect(try scene.ask("GET", target).status == 400)
        let uses = scene.api.limits.uses(of: .testNotificationStatus, at: APIScene.place)
        #expect(uses.map(\.granted) == [20, 1] && uses.map(\.refused) == [2, 0])
    }

    @Test func `each endpoint and environment has a limit of its own, and Sandbox a tenth`() throws {
        var scene = try scene()
        for _ in 0..<21 { _ = try scene.ask("GET", target) }
        #expect(try scene.ask("GET", "/inApps/v1/transactions/1").status == 404)
        #expect(try (0..<3).map { _ in try scene.ask("GET", target, in: .sandbox).status } == [400, 400, 429])
        let counter = ServerAPILimits.Counter(place: APIScene.place, endpoint: .notificationHistory)
        #expect(ServerAPILimits().allowance(of: counter) == 180_000)
    }

    @Test func `another client of the app takes half`() throws {
        var scene = try scene()
        scene.api.limits.shareOfOthers = 0.5
        #expect(try (0..<11).map { _ in try scene.ask("GET", target).status }.last == 429)
        #expect(scene.api.limits.uses(of: .testNotificationStatus, at: APIScene.place).map(\.granted) == [10])
    }

    @Test(
        arguments: [(.seconds, "7"), (.date, "Tue, 31 Mar 2026 08:00:10 GMT"), (.nonsense, "soon"), (.absent, nil)]
            as [(ServerAPILimits.RetryAfter, String?)]
    )
    func `Retry-After has other forms on demand`(form: ServerAPILimits.RetryAfter, value: String?) throws {
        var scene = try scene(form)
        scene.api.limits.allowances[.testNotificationStatus] = 0
        #expect(try scene.ask("GET", target).header("retry-after") == value)
    }
}
