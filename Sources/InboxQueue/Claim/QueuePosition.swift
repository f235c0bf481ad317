import Postgres

/// A place in the order in which events are claimed.
struct QueuePosition: Hashable, Comparable, Sendable {
    var runAt: PostgresTimestamp
    var eventID: Int64

    /// Before every event: the year 4714 BC, where PostgreSQL's time begins.
    static let start = QueuePosition(
        runAt: PostgresTimestamp(microsecondsSince2000: -211_813_488_000_000_000),
        eventID: .min
    )

    static func < (left: QueuePosition, right: QueuePosition) -> Bool {
        (left.runAt, left.eventID) < (right.runAt, right.eventID)
    }
}
