import Postgres
import StrictJSON
import Testing

@testable import Backfill

/// What a lease permits, step by step, where a walk would only show it after a crash at the right moment.
@Suite struct HistoryLeaseTests {
    private static func page(_ records: [MadeUpHistory.Record], token: String?) throws -> HistoryPage {
        var answer: JSONObject = [
            "hasMore": .bool(token != nil),
            "notificationHistory": .array(records.map { ["signedPayload": .string($0.signedPayload), "sendAttempts": []] }),
        ]
        if let token { answer["paginationToken"] = .string(token) }
        return try HistoryPage(JSONSerializer.serialize(answer), of: HistoryScene.lane, after: [])
    }

    /// The windows and the cursor with all that they have.
    private static func rows(_ scene: HistoryScene) async throws -> [String] {
        try await scene.lines(
            "SELECT to_jsonb(w)::text FROM appstore.history_windows AS w UNION ALL SELECT to_jsonb(c)::text FROM appstore.history_cursors AS c ORDER BY 1"
        )
    }

    /// Whatever a worker does that has had the window, nothing changes.
    private static func expectOver(_ window: HistoryWindow, _ scene: HistoryScene, _ comment: Comment) async throws {
        let (rows, events) = (try await rows(scene), try await scene.events())
        #expect(try await scene.store.store(page([scene.record(85)], token: "other"), of: window) == nil, comment)
        try await scene.store.postpone(window, reason: "by_test", for: .seconds(1), counts: true)
        try await scene.store.restart(window)
        #expect(try await scene.store.advance(window) == nil, comment)
        #expect(try await scene.store.compare(window) == nil, comment)
        #expect(try await Self.rows(scene) == rows, comment)
        #expect(try await scene.events() == events, comment)
    }

    @Test func `a lease is over with the next one, and with the last page`() async throws {
        try await HistoryScene.with { scene in
            try await scene.keepOneDay()
            let first = try #require(try await scene.lease())
            #expect(try await scene.lease() == nil)
            try await scene.makeDue()
            let second = try #require(try await scene.lease())
            #expect(second.epoch > first.epoch)
            try await Self.expectOver(first, scene, "another lease has begun")
            #expect(try await scene.store.store(Self.page([scene.record(84)], token: nil), of: second) == 1)
            #expect(try await scene.lines("SELECT state FROM appstore.history_windows") == ["done"])
            try await Self.expectOver(second, scene, "the window is done")
        }
    }

    @Test func `a page renews the lease, and the next one goes on with its token`() async throws {
        try await HistoryScene.with { scene in
            try await scene.keepOneDay()
            let window = try #require(try await scene.lease())
            try await scene.makeDue()
            #expect(try await scene.store.store(Self.page([scene.record(84), scene.record(84.1)], token: "t"), of: window) == 2)
            #expect(try await scene.lease() == nil)
            try await scene.makeDue()
            let next = try #require(try await scene.lease())
            #expect(next.token == "t")
            // Its first page again, where Apple refuses the token.
            try await scene.store.restart(next)
            try await scene.makeDue()
            let again = try #require(try await scene.lease())
            #expect(again.token == nil)
            #expect(try await scene.store.store(Self.page([scene.record(84)], token: nil), of: again) == 1)
            #expect(try await scene.lines("SELECT concat_ws(' ', pages, listed, restarts) FROM appstore.history_windows") == ["1 1 1"])
        }
    }

    @Test func `all pages of a second walk are read before it is compared, and none afterwards`() async throws {
        try await HistoryScene.with { scene in
            try await scene.keepOneDay()
            try await scene.execute("UPDATE appstore.history_windows SET kind = 'second'")
            var window = try #require(try await scene.lease())
            #expect(try await scene.store.compare(window) == nil)
            #expect(try await scene.store.store(Self.page([scene.record(84)], token: "t"), of: window) == 1)
            #expect(try await scene.store.compare(window) == nil)
            #expect(try await scene.store.store(Self.page([scene.record(85)], token: nil), of: window) == 1)
            #expect(try await scene.store.store(Self.page([scene.record(86)], token: nil), of: window) == nil)
            try await scene.makeDue()
            let earlier = window
            window = try #require(try await scene.lease())
            #expect(try await scene.store.compare(earlier) == nil)
            #expect(window.isRead)
            #expect(try await scene.store.compare(window) == true)
            #expect(try await scene.lines("SELECT state || ' ' || stored FROM appstore.history_windows") == ["done 2"])
        }
    }
}
