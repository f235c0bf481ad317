import InboxQueue
import InboxTesting
import Postgres
import Testing

/// How long the feed is kept for endpoints, and what is kept of them.
struct EndpointAgeingTests {
    /// Ten thousand entries in the first partition, one more in the second.
    private static func make() async throws -> (EndpointScene, Lease) {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "b", "b")
        try await scene.run("INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', n::text FROM generate_series(4, 10001) AS n")
        try await scene.database.sequenceFeed()
        return (scene, try #require(try await scene.lease().first))
    }

    private static func age(_ scene: EndpointScene, days: Int) async throws -> String {
        try await scene.run("UPDATE appstore.feed SET told_at = now() - interval '\(days) days'")
        return try await scene.lines("SELECT coalesce(appstore.expire_feed(), 'kept')")[0]
    }

    @Test func `the feed waits for an endpoint that is behind, up to twice the age`() async throws {
        let (scene, _) = try await Self.make()
        #expect(try await Self.age(scene, days: 31) == "kept")
        #expect(try await Self.age(scene, days: 61) == "dropped feed_from_1")
        #expect(try await scene.endpoint("concat_ws(': ', state, why)") == "behind: entries after position 0 have aged")
        #expect(try await scene.lease() == [])
    }

    @Test func `the feed does not wait for an endpoint that is paused`() async throws {
        let (scene, _) = try await Self.make()
        try await scene.operate("SELECT appstore.pause_endpoint('crm')")
        #expect(try await Self.age(scene, days: 31) == "dropped feed_from_1")
        #expect(try await scene.endpoint("state") == "behind")
    }

    @Test func `the feed waits for open deliveries and redeliveries, but not for what was given up`() async throws {
        let (scene, lease) = try await Self.make()
        try await scene.settle(lease, upTo: 10001, [.failed(1, "a")])
        #expect(try await Self.age(scene, days: 31) == "kept")
        try await scene.settle(lease, [Report(position: 1, subject: "a", result: "given_up", attempts: 10)])
        try await scene.operate("SELECT appstore.redeliver('crm')")
        #expect(try await Self.age(scene, days: 31) == "kept")
        try await scene.operate("SELECT appstore.stop_redelivery(1)")
        #expect(try await Self.age(scene, days: 31) == "dropped feed_from_1")
        #expect(try await scene.endpoint("state") == "enabled")
    }

    @Test func `a delivery whose entry is gone is given up, and a day later it is forgotten`() async throws {
        let (scene, lease) = try await Self.make()
        try await scene.settle(lease, upTo: 10001, [.failed(2, "b", wait: 0), .held(3, "b"), .failed(10001, "b", wait: 0), .held(1, "a")])
        #expect(try await Self.age(scene, days: 61) == "dropped feed_from_1")
        #expect(try await scene.take(lease, after: 10001, most: 1).map(\.line) == ["due 10001"], "what is gone takes no room")
        let step = {
            try await scene.database.withConnection(user: "appstore_worker") { try await MaintenanceTask.ageDeliveries.step(on: $0)?.rows }
        }
        #expect(try await step() == 3)
        try await scene.settle(lease, [.failed(2, "b", attempts: 2)])  // it was in flight
        #expect(try await step() == nil)
        #expect(
            try await scene.lines(
                "SELECT concat_ws(' ', position, last_error, given_up_at IS NULL) FROM appstore.open_deliveries ORDER BY position"
            )
                == ["1 aged f", "2 aged f", "3 aged f", "10001 HTTP status 500 t"]
        )
        try await scene.run("UPDATE appstore.open_deliveries SET given_up_at = given_up_at - interval '25 hours'")
        #expect(try await step() == 3)
        #expect(try await scene.lines("SELECT position::text FROM appstore.open_deliveries") == ["10001"])
    }

    @Test func `attempts age, successful ones before the others`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.run(
            """
            INSERT INTO appstore.delivery_attempts (endpoint, position, at, is_redelivery, result)
            SELECT 'crm', n, now() - age, false, CASE n % 2 WHEN 0 THEN 'failed' ELSE 'delivered' END
            FROM unnest('{40 days,4 days,1 hour}'::interval[]) WITH ORDINALITY AS a (age, place), generate_series(1, 600) AS n ORDER BY a.place;
            INSERT INTO appstore.redeliveries (endpoint, after, upto, state, ended_at)
            SELECT 'crm', 0, 1, 'done', now() - age FROM unnest('{40 days,4 days}'::interval[]) AS age;
            """
        )
        var steps = 0
        while try await scene.query("SELECT appstore.expire_deliveries()")[0].decode(0, as: Int64.self) > 0 { steps += 1 }
        #expect(steps > 1)
        #expect(
            try await scene.lines(
                "SELECT concat_ws(' ', result, date_trunc('day', now() - at), count(*)) FROM appstore.delivery_attempts GROUP BY result, date_trunc('day', now() - at) ORDER BY 1"
            ) == ["delivered 00:00:00 300", "failed 00:00:00 300", "failed 4 days 300"]
        )
        #expect(try await scene.lines("SELECT count(*)::text FROM appstore.redeliveries") == ["1"])
    }

    @Test func `no attempt is passed over, in whichever order they were reported`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.run(
            """
            INSERT INTO appstore.delivery_attempts (endpoint, position, at, is_redelivery, result)
            SELECT 'crm', 1, now() - age, false, 'delivered' FROM unnest('{4 days,2 days,4 days}'::interval[]) WITH ORDINALITY AS a (age, place)
            ORDER BY a.place
            """
        )
        for left in ["2", "0"] {
            while try await scene.query("SELECT appstore.expire_deliveries()")[0].decode(0, as: Int64.self) > 0 {}
            #expect(try await scene.lines("SELECT count(*)::text FROM appstore.delivery_attempts") == [left])
            try await scene.run("UPDATE appstore.delivery_attempts SET at = at - interval '2 days'")
        }
    }

    @Test func `a redelivery whose entries are gone says so`() async throws {
        let (scene, lease) = try await Self.make()
        try await scene.settle(lease, upTo: 10001, [])
        try await scene.operate("SELECT appstore.redeliver('crm')", "SELECT appstore.pause_endpoint('crm')")
        #expect(try await Self.age(scene, days: 31) == "dropped feed_from_1")
        #expect(
            try await scene.lines("SELECT concat_ws(' ', state, after, sent, ended_at IS NOT NULL) FROM appstore.redeliveries")
                == ["aged 0 0 t"]
        )
    }

    @Test func `forgetting a user deletes what receivers answered about the user`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("1000", "1000", "2000", "3000")
        // The contract 3000 was told as of the user once.
        try await scene.run(
            """
            INSERT INTO appstore.owner_links (environment, original_transaction_id, linked_at, user_id, actor)
            VALUES ('Production', '1000', now(), 'alice', 'by_test'), ('Production', '2000', now(), 'bob', 'by_test');
            UPDATE appstore.feed SET user_id = 'alice' WHERE position = 4;
            """
        )
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(lease, upTo: 4, [.failed(1, "1000"), .failed(2, "1000"), .failed(3, "2000"), .failed(4, "3000")])
        try await scene.operate("SELECT appstore.forget('alice')")
        #expect(
            try await scene.lines("SELECT position::text FROM appstore.delivery_attempts WHERE answer IS NOT NULL") == ["3"]
        )
    }
}
