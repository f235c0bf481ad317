import Foundation
import Postgres

/// Poison events: notifications that a trigger of the run refuses, like a bug in a merge, until it is dropped. Their notificationUUIDs
/// begin with ``prefix``.
struct Poison: Sendable {
    /// The first digits of the UUID, in lower case.
    let prefix: String

    /// The error message of the trigger.
    static let message = "poisoned by the run"

    /// - Parameter events: the number of posts; about 30 of them will be poison.
    init(events: Int) {
        // Each further digit divides their number by sixteen.
        let digits = (log2(Double(max(events, 1)) / 30) / 4).rounded()
        prefix = String("badcafe".prefix(max(1, Int(digits))))
    }

    /// Whether the trigger refuses the body.
    func matches(_ record: PostRecord) -> Bool {
        guard case .genuine(let uuid) = record.kind else { return false }
        return uuid.hasPrefix(prefix)
    }

    /// Creates the trigger, and another one that records each attempt that counted: outcomes do not show them.
    var script: String {
        """
        CREATE SCHEMA chaos;
        CREATE TABLE chaos.attempts (event_id bigint NOT NULL, error text, was_alone boolean NOT NULL);
        CREATE FUNCTION chaos.record_attempt() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            INSERT INTO chaos.attempts VALUES (NEW.event_id, NEW.last_error, OLD.is_isolated);
            RETURN NULL;
        END
        $$;
        CREATE TRIGGER chaos_attempt AFTER UPDATE OF attempts ON appstore.inbox_queue
            FOR EACH ROW WHEN (NEW.attempts > OLD.attempts) EXECUTE FUNCTION chaos.record_attempt();
        CREATE FUNCTION chaos.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '\(Self.message)'; END $$;
        CREATE TRIGGER chaos_poison BEFORE INSERT ON appstore.seen_notifications
            FOR EACH ROW WHEN (NEW.notification_uuid::text LIKE '\(prefix)%') EXECUTE FUNCTION chaos.refuse();
        """
    }

    /// Drops the trigger, like an operator who has found the cause.
    static let removal: Statement = "DROP TRIGGER IF EXISTS chaos_poison ON appstore.seen_notifications"
}
