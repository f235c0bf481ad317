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

    @Test func `a batch whose notification is not noted is undone`() async throws {
        try await Books.with { books in
            try await books.database.withConnection { connection in
                try await connection.runScript(
                    """
                    CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN
                        IF NEW.notification_uuid = 'b' THEN RETURN NULL; END IF;
                        RETURN NEW;
                    END
                    $$;
                    CREATE TRIGGER swallow BEFORE INSERT ON appstore.notifications_seen FOR EACH ROW EXECUTE FUNCTION swallow();
                    """
                )
            }
            let error = await #expect(throws: (any Error).self) {
                try await books.merge([Facts.event(1, uuid: "a"), Facts.event(2, uuid: "b")])
            }
            #expect(error.map { "\($0)" } == "notification b of Production is not in notifications_seen after its merge")
            #expect(try await books.database.lines("SELECT notification_uuid FROM appstore.notifications_seen") == [])
        }
    }
}
