import Postgres

/// Which settled events a tail has shown, and from which instant on it must read again.
///
/// Events become visible in the order of their commits, not of `settled_at`: a transaction that commits late adds events that lie before
/// others. But a transaction has its id before it settles an event. So each poll notes its time and the id that the next transaction gets.
/// Once all transactions before such an id have ended, nothing that was settled before that poll can still appear, and reading from the time of
/// that poll on is enough.
struct TailWindow {
    /// How far transactions were at the beginning of a poll.
    struct Position {
        let readAt: PostgresTimestamp
        /// The id that the next transaction gets.
        let nextTransaction: Int64
        /// The oldest one that runs. All before have ended, and what they settled is visible to the poll.
        let oldestTransaction: Int64
    }

    /// Events of a transaction that commits later than this are missed: a worker's takes that long only where its COMMIT waits for a missing
    /// standby. Otherwise any long transaction of the cluster would make each poll read more and more.
    static let longest: Duration = .seconds(60)

    /// All events that were settled earlier have been seen.
    private(set) var start: PostgresTimestamp
    private var positions: [Position] = []
    private var seen: [SettledEvent.Key: PostgresTimestamp] = [:]

    init(start: PostgresTimestamp) {
        self.start = start
    }

    /// Returns whether this is the first time that the event is seen.
    mutating func admit(_ key: SettledEvent.Key, settledAt: PostgresTimestamp) -> Bool {
        seen.updateValue(settledAt, forKey: key) == nil
    }

    /// Ends a poll that has read everything from ``start`` on.
    ///
    /// - Parameter position: read before the events.
    mutating func advance(past position: Position) {
        positions.append(position)
        let bound = position.readAt.earlier(by: Self.longest)
        if let index = positions.lastIndex(where: { $0.nextTransaction <= position.oldestTransaction || $0.readAt < bound }) {
            start = max(start, positions[index].readAt)
            positions.removeSubrange(...index)
        }
        seen = seen.filter { $0.value >= start }
    }
}

extension PostgresTimestamp {
    /// The instant that many seconds before.
    func earlier(by duration: Duration) -> PostgresTimestamp {
        PostgresTimestamp(microsecondsSince2000: microsecondsSince2000 - duration.components.seconds * 1_000_000)
    }
}
