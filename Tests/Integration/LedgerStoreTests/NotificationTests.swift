import FoundationEssentials
import InboxTesting
import Ledger
import LedgerTesting
import Postgres
import PostgresTesting
import Testing

/// The table of seen notifications.
struct NotificationTests {
    @Test func `each notification is recorded with its first event`() async throws {
        try await LedgerFixture.with { ledger in
            let answer = try await ledger.merge([Facts.event(1, uuid: "a"), Facts.event(2, uuid: "b"), Facts.event(3, uuid: "a")])
            #expect(answer.firstEvents.values.sorted() == [1, 2])
            let again = try await ledger.merge([Facts.event(4, uuid: "b")])
            #expect(Array(again.firstEvents.values) == [2])
        }
    }

    /// The batch's statement began before the other batch's commit, and does not see the conflicting row.
    @Test(.timeLimit(.minutes(1))) func `a notification that another batch commits concurrently has that batch's event`() async throws {
        try await LedgerFixture.with { ledger in
            let holder = try await Connection.open(ConnectionOptions(ledger.database.url()), logger: .silent)
            try await holder.runScript(
                """
                BEGIN;
                INSERT INTO appstore.seen_notifications (environment, notification_uuid, first_event_id)
                VALUES ('Production', '\(UUID(notification: "a"))', 1);
                """
            )
            async let merged = ledger.merge([Facts.event(2, uuid: "a"), Facts.event(3, uuid: "b")])
            try await ledger.database.awaitLockWaiters(1)
            try await holder.runScript("COMMIT")
            #expect(try await merged.firstEvents.values.sorted() == [1, 3])
            await holder.close()
        }
    }

    @Test func `a batch whose notification is not recorded is rolled back`() async throws {
        try await LedgerFixture.with { ledger in
            let missing = UUID(notification: "b")
            try await ledger.database.withConnection { connection in
                try await connection.runScript(
                    """
                    CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN
                        IF NEW.notification_uuid = '\(missing)' THEN RETURN NULL; END IF;
                        RETURN NEW;
                    END
                    $$;
                    CREATE TRIGGER swallow BEFORE INSERT ON appstore.seen_notifications FOR EACH ROW EXECUTE FUNCTION swallow();
                    """
                )
            }
            let error = await #expect(throws: (any Error).self) {
                try await ledger.merge([Facts.event(1, uuid: "a"), Facts.event(2, uuid: "b")])
            }
            #expect(error.map { "\($0)" } == "notification \(missing) of Production is not in seen_notifications after its merge")
            #expect(try await ledger.database.lines("SELECT notification_uuid::text FROM appstore.seen_notifications") == [])
        }
    }
}
