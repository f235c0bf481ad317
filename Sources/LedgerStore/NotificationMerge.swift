import AppStore
import Ledger
import Postgres
import SQL

/// How a batch records which event brought a notification first.
enum NotificationMerge {
    /// Returns environment, notification_uuid and first_event_id of the notifications that are new.
    static func insert(_ firsts: [(key: NotificationKey, eventID: Int64)]) -> Statement {
        Statement(
            .mergeNotifications,
            [
                "environments": firsts.map(\.key.environment.rawValue),
                "notification_uuids": firsts.map(\.key.uuid),
                "event_ids": firsts.map(\.eventID),
            ]
        )
    }

    /// Returns the same of the notifications that are recorded. It is a later statement, whose snapshot sees what the insertion met.
    static func firsts(_ keys: [NotificationKey]) -> Statement {
        Statement(
            .findFirstEvents,
            ["environments": keys.map(\.environment.rawValue), "notification_uuids": keys.map(\.uuid)]
        )
    }
}
