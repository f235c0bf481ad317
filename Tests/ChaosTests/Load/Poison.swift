import Foundation
import Postgres

/// Notifications that PostgreSQL refuses to take into the books for as long as a trigger of the run is there, as a bug in a merge would
/// have it: those whose notificationUUID begins in a certain way.
struct Poison: Sendable {
    /// How such a UUID begins, in lower case.
    let prefix: String

    /// What the trigger says.
    static let message = "poisoned by the run"

    /// - Parameter events: how many are to be posted; some tens of them will be poison.
    init(events: Int) {
        // Each digit leaves one in sixteen.
        let digits = (log2(Double(max(events, 1)) / 30) / 4).rounded()
        prefix = String("badcafe".prefix(max(1, Int(digits))))
    }

    /// Whether no merge takes it.
    func holds(_ record: PostRecord) -> Bool {
        guard case .genuine(let uuid) = record.kind else { return false }
        return uuid.hasPrefix(prefix)
    }

    /// The trigger, and another one that writes down each attempt that counted, which no outcome tells.
    var script: String {
        """
        CREATE SCHEMA chaos;
        CREATE TABLE chaos.attempts (event_id bigint NOT NULL, error text, was_alone boolean NOT NULL);
        CREATE FUNCTION chaos.write_down() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            INSERT INTO chaos.attempts VALUES (NEW.event_id, NEW.last_error, OLD.is_isolated);
            RETURN NULL;
        END
        $$;
        CREATE TRIGGER chaos_attempt AFTER UPDATE OF attempts ON appstore.inbox_queue
            FOR EACH ROW WHEN (NEW.attempts > OLD.attempts) EXECUTE FUNCTION chaos.write_down();
        CREATE FUNCTION chaos.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '\(Self.message)'; END $$;
        CREATE TRIGGER chaos_poison BEFORE INSERT ON appstore.seen_notifications
            FOR EACH ROW WHEN (NEW.notification_uuid::text LIKE '\(prefix)%') EXECUTE FUNCTION chaos.refuse();
        """
    }

    /// What an operator does who has found the reason.
    static let antidote: Statement = "DROP TRIGGER IF EXISTS chaos_poison ON appstore.seen_notifications"
}
