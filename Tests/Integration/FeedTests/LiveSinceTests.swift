import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// The past of an app is quiet, whatever brings it.
struct LiveSinceTests {
    private func told(_ database: TestDatabase) async throws -> [String] {
        try await FeedScene.sequence(in: database)
        return try await database.lines("SELECT type || ' ' || subject FROM appstore.feed WHERE type LIKE 'effect.%' ORDER BY position")
    }

    @Test func `an effect that occurred before the app was live is recorded and not told`() async throws {
        let database = try await FeedScene.make()
        try await FeedLedger.order(1...2, in: database)
        // The purchases are of yesterday, the refunds of half a day later.
        try await FeedScene.run(
            "SELECT appstore.set_live_since('com.example.app', now() - interval '18 hours')",
            as: "appstore_operator",
            in: database
        )
        try await FeedLedger.merge(FeedLedger.purchase(1), in: database)
        try await FeedLedger.merge(FeedLedger.refund(1), in: database)
        #expect(try await told(database) == ["effect.refunded 1"])
        #expect(try await database.lines("SELECT kind FROM appstore.effect_log ORDER BY kind") == ["granted", "refunded"])
        // What is true now is told all the same.
        #expect(try await database.lines("SELECT DISTINCT type FROM appstore.feed WHERE type LIKE 'access.%'") == ["access.changed"])
        try await FeedScene.run(
            "SELECT appstore.set_live_since('com.example.app', '-infinity')",
            as: "appstore_operator",
            in: database
        )
        try await FeedLedger.merge(FeedLedger.purchase(2), in: database)
        #expect(try await told(database) == ["effect.refunded 1", "effect.granted 2"])
    }

    @Test func `another app's effects, and those of an app without the instant, are told`() async throws {
        let database = try await FeedScene.make()
        try await FeedLedger.order(1...2, in: database)
        try await FeedLedger.merge(FeedLedger.purchase(1), in: database)
        try await FeedScene.run("SELECT appstore.set_live_since('com.example.other', now())", as: "appstore_operator", in: database)
        try await FeedLedger.merge(FeedLedger.purchase(2), in: database)
        #expect(try await told(database) == ["effect.granted 1", "effect.granted 2"])
        await #expect(throws: PostgresError.self) {
            try await FeedScene.run("SELECT appstore.set_live_since('a', now())", as: "appstore_backend", in: database)
        }
    }

    @Test func `an app's first import decides when it went live: with its first notification, and not before the feed`() async throws {
        for (isOn, expected) in [(false, "first"), (true, "enabled")] {
            let database = try await InboxDatabase.make()
            for (event, bundle, hours) in [(1, "com.example.other", 30), (2, "com.example.app", 20), (3, "com.example.app", 10)] {
                try await FeedScene.run(
                    """
                    INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, bundle_id)
                    VALUES (\(event), 'notification_v2', now() - \(hours) * interval '1 hour', now(), 1, 1, 'applied', \(bundle))
                    """,
                    in: database
                )
            }
            if isOn { try await FeedScene.run("SELECT appstore.enable_feed()", in: database) }
            try await FeedScene.run("SELECT appstore.begin_live('com.example.app')", in: database)
            let since = try await database.lines(
                """
                SELECT CASE WHEN l.since = (SELECT received_at FROM appstore.outcomes WHERE event_id = 2) THEN 'first'
                            WHEN l.since = (SELECT enabled_at FROM appstore.feed_head) THEN 'enabled' ELSE l.since::text END
                FROM appstore.live_since AS l
                """
            )
            #expect(since == [expected])
        }
    }
}
