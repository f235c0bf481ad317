import FoundationEssentials
import InboxTesting
import Ledger
import LedgerStore
import LedgerTesting
import Postgres
import PostgresTesting
import Testing

/// Which notifications were seen.
struct NotificationTests {
    @Test func `each notification is noted with the event that brought it first`() async throws {
        try await Books.with { books in
            let answer = try await books.merge([Facts.event(1, uuid: "a"), Facts.event(2, uuid: "b"), Facts.event(3, uuid: "a")])
            #expect(answer.firstEvents.values.sorted() == [1, 2])
            let again = try await books.merge([Facts.event(4, uuid: "b")])
            #expect(Array(again.firstEvents.values) == [2])
        }
    }

    @Test func `a notification that is known is not written again`() async throws {
        try await Books.with { books in
            try await books.merge([Facts.event(1, uuid: "a")])
            let place: Statement = "SELECT concat_ws(' ', ctid, xmin, xmax) FROM appstore.seen_notifications"
            let before = try await books.database.lines(place)
            try await books.merge([Facts.event(2, uuid: "a")])
            #expect(try await books.database.lines(place) == before)
        }
    }

    /// The batch's statement began before the other's commit, and does not see the row that it has met.
    @Test(.timeLimit(.minutes(1))) func `a notification that another batch commits meanwhile has that batch's event`() async throws {
        try await Books.with { books in
            let holder = try await Connection.open(ConnectionOptions(books.database.url()), logger: .silent)
            let observer = try await Connection.open(ConnectionOptions(books.database.url()), logger: .silent)
            try await holder.runScript(
                """
                BEGIN;
                INSERT INTO appstore.seen_notifications (environment, notification_uuid, first_event_id)
                VALUES ('Production', '\(UUID(notification: "a"))', 1);
                """
            )
            async let merged = books.merge([Facts.event(2, uuid: "a"), Facts.event(3, uuid: "b")])
            let waiting: Statement = """
                SELECT FROM pg_stat_activity
                WHERE datname = current_database() AND usename = 'appstore_worker' AND wait_event_type = 'Lock'
                """
            while try await observer.query(waiting).isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            try await holder.runScript("COMMIT")
            #expect(try await merged.firstEvents.values.sorted() == [1, 3])
            await holder.close()
            await observer.close()
        }
    }

    @Test func `a batch whose notification is not noted is undone`() async throws {
        try await Books.with { books in
            let missing = UUID(notification: "b")
            try await books.database.withConnection { connection in
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
                try await books.merge([Facts.event(1, uuid: "a"), Facts.event(2, uuid: "b")])
            }
            #expect(error.map { "\($0)" } == "notification \(missing) of Production is not in seen_notifications after its merge")
            #expect(try await books.database.lines("SELECT notification_uuid::text FROM appstore.seen_notifications") == [])
        }
    }
}
