import AppStore
import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
import StoreSimulatorServer
import StrictJSON
import Testing

/// Everything that can go wrong with an answer of Apple, over TLS: it leaves a window's cursor, or a call, as it was. These tests mostly wait, so
/// they run at once.
@Suite(.timeLimit(.minutes(10)))
struct FaultTests {
    struct Fault: Sendable {
        let name: String
        let fault: ServerAPIFault
        /// How many answers meet it; nil for all until it is taken back.
        var times: Int?
        /// Whether the worker goes on in spite of it.
        var isHarmless = false

        init(_ name: String, _ fault: ServerAPIFault, times: Int? = nil, isHarmless: Bool = false) {
            (self.name, self.fault, self.times, self.isHarmless) = (name, fault, times, isHarmless)
        }
    }

    /// Those of any endpoint.
    private static let common = [
        Fault("500", .error(5_000_000)), Fault("503 in HTML", .page(status: 503)), Fault("404 of a gateway", .page(status: 404)),
        Fault("redirect", .redirect(to: "https://localhost:1/")), Fault("reset", .reset),
        Fault("try again", .error(4_040_002)), Fault("no answer", .manner(.never)),
        Fault("drip", .manner(.trickling(every: .milliseconds(200)))), Fault("more than 4 MiB", .padded(to: 5_000_000)),
        Fault("kept open, then closed", .manner(.thenClosed), isHarmless: true),
        Fault("a clock that differs", .date(skewedBy: .seconds(7200)), isHarmless: true),
    ]

    /// Those of a page of history. A start that is too old changes the window as Apple demands: see HistoryErrorTests.
    private static let ofPages =
        common + [
            Fault("broken off", .manner(.cut(after: 100))), Fault("unknown code", .error(4_009_999)),
            Fault("hasMore is missing", .member("hasMore", nil)), Fault("more, and no token", .withoutToken),
            Fault("the same token", .repeatedToken), Fault("no payload", .member("notificationHistory", [["sendAttempts": []]])),
            Fault("no list", .member("notificationHistory", "x")), Fault("another app", .member("bundleId", "com.example.other")),
            Fault("another environment", .member("environment", "Sandbox")),
            Fault("4 MB", .padded(to: 4_000_000), isHarmless: true),
            Fault("unknown members", .unknownMembers, isHarmless: true), Fault("unknown values", .unknownValues, isHarmless: true),
            Fault("empty pages with more", .emptyPage, times: 3, isHarmless: true),
            Fault("token expired", .error(4_000_017), times: 2, isHarmless: true),
            Fault("token invalid", .error(4_000_014), times: 2, isHarmless: true),
        ]

    /// The consumption endpoint answers with an empty body: what is in it does not matter.
    private static let ofConsumption = common + [Fault("not known yet", .error(4_040_010))]

    @Test func `every fault of a page leaves window and coverage as they were, and afterwards the window is completed`() async throws {
        let first = AppleScene.now().advanced(by: .seconds(-20 * 86_400))
        try await AppleScene.with(change: { $0.options.pageSize = 2 }) { scene in
            _ = try await scene.startWorker()
            try await eventually("the empty history is read") { try await scene.isRead() }
            // No quarter of an hour passes meanwhile.
            try await scene.sql.execute("UPDATE appstore.history_cursors SET near_until = near_until + interval '1 day'")
            let windows = try Self.fillWindows(scene, from: first)
            try await Self.open(windows, scene)
            let faulty = Self.ofPages.filter { !$0.isHarmless }.count
            try await eventually("each fault was met", within: .seconds(120)) {
                let failing = try await Self.failing(scene, atLeast: 1)
                return try await scene.lines(Self.openWindows).count == faulty && failing == faulty
            }
            let standing = try await scene.standing()
            #expect(standing.count == faulty + 1 && standing.filter { $0.contains(" open ") && $0.hasSuffix(" 1 2 2") }.count == faulty)
            try await scene.makeDue()
            try await eventually("each fault was met again", within: .seconds(120)) {
                try await Self.failing(scene, atLeast: 2) == faulty
            }
            #expect(try await scene.standing() == standing)
            #expect(try await scene.lines("SELECT DISTINCT coalesce(why, '-') FROM appstore.history_gaps").count >= 8)
            scene.store.access { $0.faults.removeAll() }
            try await scene.makeDue()
            try await eventually("the windows are read", within: .seconds(60)) { try await scene.isRead() }
            let seen = try await scene.lines("SELECT notification_uuid::text FROM appstore.seen_notifications")
            #expect(Set(seen) == scene.listed() && seen.count == 5 * Self.ofPages.count)
            #expect(try await scene.lines("SELECT DISTINCT result::text FROM appstore.outcomes") == ["applied"])
        }
    }

    /// Five records in an hour for each fault, which the second page and later ones meet.
    private static func fillWindows(_ scene: AppleScene, from first: Timestamp) throws -> [Timestamp] {
        var store = SimulatedStore(app: scene.shop.app, seed: 7, now: first)
        var life = store.makeCustomer()
        let coins = try #require(life.catalogue.oneTimeProducts.first)
        var windows: [Timestamp] = []
        for (index, fault) in ofPages.enumerated() {
            let start = first.advanced(by: .seconds(Int64(index) * 3600))
            for minute in 1...5 {
                life.advance(to: start.advanced(by: .seconds(Int64(minute) * 60)))
                let signed = try scene.shop.signer.sign(life.buy(coins))
                scene.store.access { _ = $0.push(signed, fate: .givenUp) }
            }
            let milliseconds = start.millisecondsSince1970
            scene.store.access { api in
                api.faults.add(fault.fault, to: .notificationHistory, times: fault.times) { request in
                    guard !request.values("paginationToken").isEmpty, let body = try? request.members() else { return false }
                    return body["startDate"] == .integer(milliseconds)
                }
            }
            windows.append(start)
        }
        return windows
    }

    private static func open(_ windows: [Timestamp], _ scene: AppleScene) async throws {
        let starts = windows.map { PostgresTimestamp(millisecondsSince1970: $0.millisecondsSince1970) }
        try await scene.sql.execute(
            """
            INSERT INTO appstore.history_windows (bundle_id, environment, kind, starts_at, ends_at)
            SELECT \(AppleScene.place.bundleID), 'Production', 'day', s, s + interval '1 hour' FROM unnest(\(starts)) AS s
            """
        )
    }

    private static let openWindows: Statement = "SELECT window_id::text FROM appstore.history_windows WHERE state = 'open'"

    /// Counts them whether they wait or are asked again by now: those that get no answer hardly ever wait at the same time.
    private static func failing(_ scene: AppleScene, atLeast failures: Int32) async throws -> Int {
        try await scene.sql.value(
            Int.self,
            "SELECT count(*) FROM appstore.history_windows WHERE state = 'open' AND failures >= \(failures)"
        )
    }

    @Test func `every fault of a consumption answer leaves the call as it was, and afterwards Apple has it in time`() async throws {
        try await AppleScene.with { scene in
            let ids = try await Self.requestConsumptions(Self.ofConsumption.count, scene)
            for (id, fault) in zip(ids, Self.ofConsumption) {
                scene.store.access { api in
                    api.faults.add(fault.fault, to: .consumption, times: nil) { $0.path.hasSuffix("/\(id)") }
                }
            }
            _ = try await scene.startWorker()
            try await scene.decide(ids)
            let faulty = Self.ofConsumption.filter { !$0.isHarmless }.count
            try await eventually("each fault was met", within: .seconds(120)) {
                let tried = try await Self.tried(scene, 1)
                return try await Self.calls(scene).count == faulty && tried == faulty
            }
            let standing = try await Self.calls(scene)
            try await scene.makeDue()
            try await eventually("each fault was met again", within: .seconds(120)) { try await Self.tried(scene, 2) == faulty }
            #expect(try await Self.calls(scene) == standing)
            #expect(
                try await scene.lines("SELECT state || ' ' || count(*) FROM appstore.consumption_requests GROUP BY state ORDER BY 1")
                    == ["answered \(ids.count - faulty)", "sending \(faulty)"]
            )
            scene.store.access { $0.faults.removeAll() }
            try await scene.makeDue()
            try await scene.expectAnswered(ids)
        }
    }

    private static func tried(_ scene: AppleScene, _ attempts: Int32) async throws -> Int {
        try await scene.sql.value(Int.self, "SELECT count(*) FROM appstore.outbox WHERE state = 'open' AND attempts >= \(attempts)")
    }

    /// The open calls without clocks and attempts.
    private static func calls(_ scene: AppleScene) async throws -> [String] {
        try await scene.lines(
            """
            SELECT concat_ws(' ', call_id, kind, call_key, priority, sha256(payload), deadline_at, state) FROM appstore.outbox
            WHERE state = 'open' ORDER BY call_id
            """
        )
    }

    /// Customers who have bought something and want their money back; Apple's requests are pushed.
    private static func requestConsumptions(_ count: Int, _ scene: AppleScene) async throws -> [String] {
        try await scene.expectDecisions()
        let ingest = try await scene.installation.startIngest()
        var store = SimulatedStore(app: scene.shop.app, seed: 9, now: AppleScene.now().advanced(by: .seconds(-2 * 3600)))
        var ids: [String] = []
        for _ in 0..<count {
            let (id, bodies) = try scene.requestConsumption(&store)
            for answer in try await ingest.client.post(bodies) { #expect(answer.status == 200) }
            ids.append(id)
        }
        return ids
    }

    @Test(arguments: [ServerAPILimits.RetryAfter.unixMilliseconds, .seconds, .date, .nonsense, .absent])
    func `a rate limit in any form postpones window and call without an attempt`(_ form: ServerAPILimits.RetryAfter) async throws {
        try await Self.postponed(
            status: 429,
            begin: { api in
                api.limits.hour = .seconds(1)
                api.limits.retryAfter = form
                (api.limits.allowances[.notificationHistory], api.limits.allowances[.consumption]) = (0, 0)
            },
            end: { $0.limits.allowances = [:] }
        )
    }

    @Test(arguments: ["revoked key", "empty 401", "app without a release"])
    func `a refused key postpones window and call without an attempt`(_ why: String) async throws {
        try await Self.postponed(
            status: 401,
            begin: { api in
                switch why {
                case "revoked key": api.keys[0].isRevoked = true
                case "empty 401": api.faults.add(.unauthorized, times: nil)
                default: api.apps[0].isReleased = false
                }
            },
            end: { api in
                api.keys[0].isRevoked = false
                api.faults.removeAll()
                api.apps[0].isReleased = true
            }
        )
    }

    /// Lets all answers be of a status for a time.
    private static func postponed(
        status: Int,
        begin: @Sendable (inout SimulatedServerAPI) -> Void,
        end: @Sendable (inout SimulatedServerAPI) -> Void
    ) async throws {
        try await AppleScene.with { scene in
            scene.store.access { begin(&$0) }
            let ids = try await requestConsumptions(1, scene)
            let worker = try await scene.startWorker()
            try await scene.decide(ids)
            try await eventually("both endpoints were asked, or the key rests for both") {
                let calls = scene.store.calls.filter { $0.status == status }
                return status == 401 ? !calls.isEmpty : Set(calls.map(\.endpoint)) == [.notificationHistory, .consumption]
            }
            let counts: Statement = """
                SELECT (SELECT count(*) FROM appstore.history_windows WHERE failures > 0 OR pages > 0 OR state <> 'open') || ' '
                       || (SELECT coalesce(sum(attempts), -1) FROM appstore.outbox WHERE state = 'open')
                """
            try await eventually("the call waits") {
                try await scene.lines("SELECT 'x' FROM appstore.outbox WHERE state = 'open' AND NOT is_leased").count == 1
            }
            #expect(try await scene.lines(counts) == ["0 0"])
            scene.store.access { end(&$0) }
            // A refused key rests for a minute in the process that has it.
            #expect(try await worker.terminate() == .exit(0))
            try await scene.makeDue()
            _ = try await scene.startWorker()
            try await scene.expectAnswered(ids)
            try await eventually("the windows are read", within: .seconds(60)) { try await scene.isRead() }
        }
    }
}

extension AppleScene {
    /// A customer who has bought something and wants the money back: the transaction, and the bodies of both notifications.
    func requestConsumption(_ store: inout SimulatedStore) throws -> (id: String, bodies: [[UInt8]]) {
        var life = store.makeCustomer()
        let coins = try #require(life.catalogue.oneTimeProducts.first { $0.type == .consumable })
        let bought = try shop.signer.sign(life.buy(coins))
        let id = try #require(bought.notification.transactionID)
        life.advance(by: .seconds(60))
        let asked = try shop.signer.sign(life.requestConsumption(id))
        let held = life
        self.store.access { api in
            api.hold(held, at: held.now)
            for signed in [bought, asked] { api.push(signed, fate: .delivered) }
        }
        return (id, [bought.body, asked.body])
    }

    /// Sets the policy of the app: what the test decides is sent.
    func expectDecisions() async throws {
        try await sql.execute(
            "INSERT INTO appstore.consumption_policies (bundle_id, mode) VALUES (\(Self.place.bundleID), 'backend')"
        )
    }

    /// Decides the requests, once the worker has settled them.
    func decide(_ ids: [String]) async throws {
        try await eventually("Apple's requests are known", within: .seconds(60)) {
            try await lines("SELECT transaction_id FROM appstore.consumption_requests WHERE state = 'waiting'").count == ids.count
        }
        for id in ids {
            _ = try await sql.rows(
                """
                SELECT appstore.answer_consumption('Production', \(id), true, 'DELIVERED', false, 40000, 'GRANT_PRORATED', 'terms 7')
                """
            )
        }
    }

    /// Waits until Apple has each answer.
    func expectAnswered(_ ids: [String]) async throws {
        try await eventually("Apple has the answers", within: .seconds(90)) {
            try await lines("SELECT transaction_id FROM appstore.consumption_requests WHERE state = 'answered'").count == ids.count
        }
        let taken = store.access { $0.consumptions(at: Self.place) }
        #expect(Set(taken.map(\.transactionID)) == Set(ids) && taken.allSatisfy(\.isInTime))
        let body: JSONObject = [
            "customerConsented": true, "deliveryStatus": "DELIVERED", "sampleContentProvided": false, "consumptionPercentage": 40_000,
            "refundPreference": "GRANT_PRORATED",
        ]
        #expect(taken.allSatisfy { Set($0.body.members.map(\.name)) == Set(body.members.map(\.name)) })
    }
}
