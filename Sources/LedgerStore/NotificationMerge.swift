import AppStore
import Ledger
import Postgres

/// How it is remembered which event brought a notificationUUID first.
enum NotificationMerge {
    /// Returns environment, notification_uuid and first_event_id of all of them. The update of a known row changes nothing: it makes the
    /// statement wait for a copy in another transaction, and return the row.
    static func statement(_ firsts: [(key: LedgerKey, eventID: Int64)]) -> Statement {
        """
        INSERT INTO appstore.notifications_seen AS n (environment, notification_uuid, first_event_id)
        SELECT u.environment, u.notification_uuid, u.event_id
        FROM unnest(\(firsts.map(\.key.environment.rawValue)), \(firsts.map(\.key.id)), \(firsts.map(\.eventID)))
             AS u (environment, notification_uuid, event_id)
        ORDER BY u.environment, u.notification_uuid
        ON CONFLICT (environment, notification_uuid) DO UPDATE SET first_event_id = n.first_event_id
        RETURNING n.environment::text, n.notification_uuid, n.first_event_id
        """
    }
}
