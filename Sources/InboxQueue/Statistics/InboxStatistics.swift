package import Postgres
import SQL

/// The inbox in numbers, all of one instant, as `appstore.inbox_statistics()` gives them: the one home of what metrics, readiness and
/// `status` show. Counts stop at ``countedTo``. Durations are by the database's clock, and nil where nothing is that could be old.
package struct InboxStatistics: Hashable, Statistics {
    /// Events that are due.
    package let ready: Int64
    /// Events whose next attempt is later.
    package let waiting: Int64
    /// Events without outcome: the sum of both, or PostgreSQL's estimate where that is larger than can be counted.
    package let unsettled: Int64
    /// Events that run by themselves: their batch was lost, or they took too long.
    package let isolated: Int64
    /// Dead letters.
    package let failed: Int64
    /// For how long the first ready event has been due.
    package let overdue: Duration?
    /// Since the arrival of the event without outcome that came first.
    package let oldestUnsettled: Duration?
    /// Since the arrival of the last genuine notification that was settled. Anyone can post junk, so that it does not count.
    package let silence: Duration?
    /// Batches whose process died, and whose events are not back in the queue yet.
    package let lostBatches: Int64
    /// Partitions of the inbox, the default one included.
    package let partitions: Int64
    /// The age of the oldest snapshot that keeps vacuum from removing dead rows.
    package let snapshotAge: Duration?
    /// The same in transactions.
    package let snapshotTransactions: Int64
    /// Whether the sessions of all roles were looked at for it.
    package let seesAllSessions: Bool
    /// The latest position of the feed; nil while it is off.
    package let feedPosition: Int64?
    /// Since the oldest change that has no position in the feed yet.
    package let feedUntold: Duration?
    /// How many entries the named consumer that is furthest behind has not taken; nil without consumers.
    package let feedLag: Int64?

    /// A count that is as large means as many or more.
    package static let countedTo: Int64 = 10_000

    /// What asks for it; for roles worker, operator and viewer.
    package static let statement = Statement.inboxStatistics()

    /// Reads the answer to ``statement``.
    package init(_ row: Row) throws {
        ready = try row.decode("ready")
        waiting = try row.decode("waiting")
        unsettled = try row.decode("unsettled")
        isolated = try row.decode("isolated")
        failed = try row.decode("failed")
        overdue = try row.decode("overdue")
        oldestUnsettled = try row.decode("oldest_unsettled")
        silence = try row.decode("silence")
        lostBatches = try row.decode("lost_batches")
        partitions = try row.decode("partitions")
        snapshotAge = try row.decode("snapshot_age")
        snapshotTransactions = try row.decode("snapshot_transactions")
        seesAllSessions = try row.decode("sees_all_sessions")
        feedPosition = try row.decode("feed_position")
        feedUntold = try row.decode("feed_untold")
        feedLag = try row.decode("feed_lag")
    }
}
