import Foundation
import InboxTesting
import Postgres
import Testing

/// Notifications that are forwarded as Apple sent them.
struct RawEndpointTests {
    private static let make: Statement = "SELECT appstore.make_endpoint('mmp', 'https://example.com/raw', 'raw')"

    /// Receives a body and settles it.
    private func settle(
        _ scene: EndpointScene,
        event: Int64,
        run: Int32 = 1,
        _ result: String,
        reason: String? = nil,
        source: String = "notification_v2",
        isVerified: Bool = true,
        app: String = "com.example.shop"
    ) async throws {
        if run == 1 {
            try await scene.run(
                """
                INSERT INTO appstore.inbox (event_id, source, received_at, body) VALUES (\(event), '\(source)', now(), '\\x00ff7b0d0a');
                INSERT INTO appstore.inbox_queue (event_id, run_at, bytes) VALUES (\(event), now(), 5);
                """
            )
        }
        let uuid = isVerified ? "00000000-0000-4000-8000-00000000000\(event)" : nil
        _ = try await scene.query(
            """
            SELECT appstore.settle('{}', ARRAY[\(event)], ARRAY[\(source)], ARRAY[now()], ARRAY[\(run)], '{1}', ARRAY[\(result)]::appstore.result[],
                                   ARRAY[\(reason)], '{NULL}', '{DID_RENEW}', '{NULL}', ARRAY[\(uuid)]::uuid[], '{Sandbox}', ARRAY[\(app)],
                                   '{NULL}', '{1000}')
            """
        )
    }

    private func told(_ scene: EndpointScene) async throws -> [String] {
        try await scene.database.sequenceFeed()
        return try await scene.lines(
            "SELECT concat_ws(' ', type, right(data ->> 'notification_uuid', 1), environment, bundle_id, subject, data ->> 'event_id', data ->> 'reason') FROM appstore.feed ORDER BY position"
        )
    }

    @Test func `a verified notification is told once, whatever its result`() async throws {
        let scene = try await EndpointScene.make(Self.make)
        try await settle(scene, event: 1, "applied")
        try await settle(scene, event: 2, "failed", reason: "merge_failed")
        try await settle(scene, event: 3, "duplicate")
        try await settle(scene, event: 4, "rejected", reason: "untrusted_root")
        try await settle(scene, event: 5, "failed", reason: "killed_worker", isVerified: false)
        try await settle(scene, event: 6, "applied", source: "notification_v1")
        try await settle(scene, event: 7, "unhandled", reason: "unknown_notification")
        let expected = ["1 Sandbox com.example.shop 1000 1", "2 Sandbox com.example.shop 1000 2 merge_failed"]
        #expect(
            try await told(scene).filter { $0.hasPrefix("notification") }.prefix(2) == expected.map { "notification.received \($0)" }[...]
        )
        #expect(try await told(scene).filter { $0.hasPrefix("notification") }.count == 3)
        for event in [1, 2, 7] as [Int64] {
            try await scene.operate("SELECT appstore.requeue_event(\(event))")
            try await settle(scene, event: event, run: 2, "applied")
        }
        #expect(try await told(scene).filter { $0.hasPrefix("notification") }.count == 3)
    }

    @Test func `a notification of another app is told as rejected, and as received once the app is configured`() async throws {
        let scene = try await EndpointScene.make(Self.make)
        try await scene.operate("SELECT appstore.make_endpoint('other', 'https://example.com/', 'raw', with_wrong_bundle => true)")
        try await settle(scene, event: 1, "rejected", reason: "wrong_bundle")
        try await scene.operate("SELECT appstore.requeue_event(1)")
        try await settle(scene, event: 1, run: 2, "rejected", reason: "wrong_bundle")
        try await scene.operate("SELECT appstore.requeue_event(1)")
        try await settle(scene, event: 1, run: 3, "applied")
        try await scene.operate("SELECT appstore.requeue_event(1)")
        #expect(
            try await told(scene) == [
                "notification.rejected 1 Sandbox com.example.shop 1000 1 wrong_bundle",
                "notification.received 1 Sandbox com.example.shop 1000 1",
            ],
            "also while it runs again"
        )
        #expect(
            try await scene.lines(
                "SELECT (id = (data ->> 'notification_uuid')::uuid)::text || ' ' || count(*) OVER (PARTITION BY id) FROM appstore.feed ORDER BY position"
            ) == ["false 1", "true 1"],
            "two entries have two ids"
        )
        let leases = try await scene.lease()
        for lease in leases {
            let lines = try await scene.take(lease, after: 0).map(\.line)
            #expect(lines == (lease.name == "other" ? ["next 1", "next 2", "through 2"] : ["next 2", "through 2"]))
        }
    }

    @Test func `the bytes are those that came in, filtered by app, and missing once they were deleted`() async throws {
        let scene = try await EndpointScene.make(
            "SELECT appstore.make_endpoint('mmp', 'https://example.com/raw', 'raw', bundle_ids => '{com.example.shop}')"
        )
        try await settle(scene, event: 1, "applied")
        try await settle(scene, event: 2, "applied", app: "com.example.other")
        try await settle(scene, event: 3, "applied")
        try await scene.run("DELETE FROM appstore.inbox WHERE event_id = 3")
        try await scene.database.sequenceFeed()
        try await scene.operate("SELECT appstore.test_endpoint('mmp')")
        try await scene.database.sequenceFeed()
        let lease = try #require(try await scene.lease().first)
        let taken = try await scene.take(lease, after: 0)
        #expect(taken.map(\.line) == ["next 1", "next 3", "next 4", "through 4"])
        #expect(taken[0].body == [0x00, 0xff, 0x7b, 0x0d, 0x0a] && !taken[0].isMissing)
        #expect(taken[1].body == nil && taken[1].isMissing)
        #expect(taken[2].type == "test" && taken[2].body?.first == UInt8(ascii: "{") && !taken[2].isMissing)
        #expect(
            try await scene.take(lease, after: 0, bytes: 5).map(\.line) == ["next 1", "next 3", "through 3"],
            "what is missing has no bytes"
        )
    }

    @Test func `nothing is told while no endpoint wants it`() async throws {
        let scene = try await EndpointScene.make()
        let wants = { try await scene.lines("SELECT wants_raw::text FROM appstore.feed_switch") }
        #expect(try await wants() == ["false"])
        try await settle(scene, event: 1, "applied")
        try await scene.operate(#"SELECT appstore.change_endpoint('crm', '{"types": ["notification.received"]}')"#)
        #expect(try await wants() == ["true"])
        try await settle(scene, event: 2, "applied")
        try await scene.operate("SELECT appstore.remove_endpoint('crm')")
        #expect(try await wants() == ["false"])
        try await settle(scene, event: 3, "applied")
        #expect(
            try await told(scene).filter { $0.hasPrefix("notification") } == ["notification.received 2 Sandbox com.example.shop 1000 2"]
        )
    }

    @Test func `the first raw endpoint is refused while a batch is open that has found none`() async throws {
        let scene = EndpointScene(database: try await InboxDatabase.make())
        try await scene.operate("SELECT appstore.enable_feed()")
        try await scene.database.withConnection { writer in
            try await writer.withTransaction { transaction in
                _ = try await transaction.query("SELECT is_on FROM appstore.feed_switch")
                let refusal = await #expect(throws: PostgresError.self) { try await scene.operate(Self.make) }
                #expect(refusal?.sqlState?.rawValue == "55P03" && refusal?.description.contains("again") == true)
            }
        }
        try await scene.operate(Self.make)
        #expect(try await scene.lines("SELECT wants_raw::text FROM appstore.feed_switch") == ["true"])
    }
}
