import InboxTesting
import Postgres
import Testing

/// What the feed tells an operator.
struct FeedFailureTests {
    @Test func `an event that fails for good is told, without its error, and again when it fails again`() async throws {
        let database = try await FeedScene.make()
        for run in 1...2 {
            try await FeedScene.run(
                run == 1 ? "SELECT appstore.receive(ARRAY['\\x7b7d'::bytea])" : "SELECT appstore.requeue_event(1)",
                in: database
            )
            try await FeedScene.run(
                """
                SELECT appstore.settle('{}', '{1}', '{notification_v2}', '{2026-01-01 00:00+00}', ARRAY[\(Int32(run))], '{3}', '{failed}',
                                       '{handler_failed}', '{a secret}', '{DID_RENEW}', '{NULL}', '{NULL}', '{Sandbox}', '{com.example.app}',
                                       '{NULL}', '{1000}')
                """,
                as: "appstore_worker",
                in: database
            )
            try await FeedScene.sequence(in: database)
        }
        #expect(
            try await database.lines(
                """
                SELECT concat_ws(' ', position, type, environment, bundle_id, subject, data ->> 'event_id', data ->> 'reason', data ->> 'attempts',
                                 data::text LIKE '%secret%') FROM appstore.feed ORDER BY position
                """
            ) == [
                "1 inbox.failed Sandbox com.example.app 1000 1 handler_failed 3 f",
                "2 inbox.failed Sandbox com.example.app 1000 1 handler_failed 3 f",
            ]
        )
        #expect(try await database.lines("SELECT count(DISTINCT id)::text FROM appstore.feed") == ["2"])
    }

    @Test func `an event that succeeds after all before the step is not told`() async throws {
        let database = try await FeedScene.make()
        try await FeedScene.run("INSERT INTO appstore.tells (kind, ref) VALUES ('failed', '1')", in: database)
        try await FeedScene.sequence(in: database)
        #expect(try await FeedScene.entries(in: database) == [])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.tells") == ["0"])
    }
}
