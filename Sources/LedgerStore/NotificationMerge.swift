import AppStore
import Ledger
import Postgres
import SQL

/// Records the first event of each notification.
enum NotificationMerge {
    /// Returns environment, notification_uuid and first_event_id of the notifications that are new.
    static func insert(_ firsts: [(key: NotificationKey, eventID: Int64)]) -> Statement {
        .mergeNotifications(
            environments: firsts.map(\.key.environment.rawValue),
            notificationUUIDs: firsts.map(\.key.uuid),
            eventIDs: firsts.map(\.eventID)
        )
    }

    /// Returns the same of existing notifications. A later statement has a later snapshot: it sees the rows that the insert conflicted with.
    static func firsts(_ keys: [NotificationKey]) -> Statement {
        .findFirstEvents(environments: keys.map(\.environment.rawValue), notificationUUIDs: keys.map(\.uuid))
    }
}
