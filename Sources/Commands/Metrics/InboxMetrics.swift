import InboxQueue
import Postgres
import SQL
import ServiceSupport

extension MetricCatalogue {
    /// The state of the inbox, read from the database. Every worker exposes the same metrics, as of its own last query.
    static let inbox = [up] + InboxStatistics.metrics.map(\.description)

    private static let up = MetricDescription(
        "appstore_inbox_statistics_up",
        .gauge,
        "1 when the last query for the inbox metrics succeeded, 0 when it failed; they are absent then. It runs about every 15 seconds."
    )

    /// Exposes the latest statistics of a collector, and whether there are any.
    static func expose(_ collector: StatisticsCollector<InboxStatistics>, in registry: MetricRegistry) {
        registry.observe(up.name) { collector.latest == nil ? 0 : 1 }
        collector.expose(in: registry)
    }
}

private typealias Gauge = CollectedMetric<InboxStatistics>

extension InboxStatistics: ExposedStatistics {
    private static let counted = "Exact up to \(countedTo), which means as many or more."

    static let metrics: [CollectedMetric<Self>] = [
        .each("statistics_timestamp_seconds", "When the last query for the inbox metrics succeeded, in seconds since 1970.") {
            [MetricRegistry.Sample([], $0.time)]
        },
        Gauge("ready_events", "Events that are due. \(counted)") { Double($0.ready) },
        Gauge("waiting_events", "Events whose next attempt is later. \(counted)") { Double($0.waiting) },
        Gauge(
            "unsettled_events",
            "Events without outcome: those that are due and those that wait. Beyond 10,000 it is PostgreSQL's estimate."
        ) {
            Double($0.unsettled)
        },
        Gauge("isolated_events", "Events that run one to a batch: their batch was lost, or they failed or took too long. \(counted)") {
            Double($0.isolated)
        },
        Gauge("failed_events", "Dead letters: events that failed for good and wait for an operator. \(counted)") { Double($0.failed) },
        Gauge("oldest_due_timestamp_seconds", at: "Since when the first event that is due has been due") { $0.overdue },
        Gauge("oldest_unsettled_timestamp_seconds", at: "When the oldest event without outcome arrived") { $0.oldestUnsettled },
        Gauge(
            "last_notification_timestamp_seconds",
            at: "When the last genuine notification that is settled arrived, or a later time where none is among the newest "
                + "\(countedTo) outcomes"
        ) { $0.silence },
        Gauge("lost_batches", "Batches whose process died and whose events are not yet back in the queue.") { Double($0.lostBatches) },
        Gauge("partitions", "Partitions of the inbox, including the default partition.") { Double($0.partitions) },
        Gauge(
            "oldest_snapshot_timestamp_seconds",
            at: "When the oldest snapshot of a session or prepared transaction was taken, which keeps vacuum from removing dead rows"
        ) { $0.snapshotAge },
        Gauge(
            "oldest_snapshot_age_transactions",
            "The xmin age, in transactions, of the oldest snapshot of a session, prepared transaction or replication slot."
        ) { Double($0.snapshotTransactions) },
        Gauge(
            "snapshots_complete",
            "1 when the metrics of the oldest snapshot include the sessions of all roles, 0 when only those of appstore_owner."
        ) { $0.seesAllSessions ? 1 : 0 },
        Gauge("feed_position", "The latest position of the feed; absent while it is off.") { $0.feedPosition.map(Double.init) },
        Gauge("feed_unsequenced_timestamp_seconds", at: "When the oldest change that has no position in the feed yet was written") {
            $0.feedUntold
        },
        Gauge("feed_lag_entries", "Entries of the feed that the named consumer furthest behind has not taken; absent without consumers.") {
            $0.feedLag.map(Double.init)
        },
    ]
}

/// The values of Apple's lists that this program did not know, as `appstore.unknown_values()` gives them: for metrics and for `doctor`.
struct UnknownValueStatistics: ExposedStatistics {
    struct Value: Hashable, Sendable {
        /// `member=value`, percent-encoded.
        let name: String
        /// Those with it among the latest outcomes.
        let events: Int64
        let latestEventID: Int64
    }

    /// How many outcomes were looked at.
    let outcomes: Int64
    /// At most 20.
    let values: [Value]

    /// For the roles worker, viewer and operator.
    static let statement = Statement.unknownValues()

    static let metrics: [CollectedMetric<Self>] = [
        .each(
            "unknown_values",
            "Events of the last seven days, among the latest 10,000 outcomes, with a value that this version does not know, by value "
                + "(member=value, percent-encoded); at most 20 values."
        ) { $0.numbers.values.map { MetricRegistry.Sample([("value", $0.name)], Double($0.events)) } }
    ]

    init(_ row: Row) throws {
        outcomes = try row.decode("outcomes")
        let (events, latest): ([Int64], [Int64]) = (try row.decode("events"), try row.decode("latest_event_ids"))
        values = try row.decode("unknown", as: [String].self).enumerated().map { index, name in
            Value(name: name, events: events[index], latestEventID: latest[index])
        }
    }
}

extension MetricCatalogue {
    /// Values that are new at Apple. All workers show the same ones, as of their own last query, every five minutes.
    static let unknownValues = UnknownValueStatistics.metrics.map(\.description)
}

/// The tokens for purchases outside the App Store that wait to be reported, as `appstore.external_purchase_token_statistics()` counts them: for
/// metrics and for `doctor`.
struct ExternalPurchaseTokenStatistics: ExposedStatistics {
    /// Apple complains, or will any moment.
    let overdue: Int64
    /// Due within two days.
    let dueSoon: Int64
    /// These, and all that are due later.
    let unreported: Int64

    /// For the roles worker, viewer and operator.
    static let statement = Statement.externalPurchaseTokenStatistics()

    static let metrics: [CollectedMetric<Self>] = [
        .each(
            "external_purchase_tokens",
            "Tokens for purchases outside the App Store in Production that are not marked as reported to Apple, by state: overdue, due_soon "
                + "(within two days), or later. Exact up to 10,000."
        ) { reading in
            let numbers = reading.numbers
            let later = numbers.unreported - numbers.overdue - numbers.dueSoon
            return [("overdue", numbers.overdue), ("due_soon", numbers.dueSoon), ("later", later)].map { state, count in
                MetricRegistry.Sample([("state", state)], Double(count))
            }
        }
    ]

    init(overdue: Int64, dueSoon: Int64, unreported: Int64) {
        (self.overdue, self.dueSoon, self.unreported) = (overdue, dueSoon, unreported)
    }

    init(_ row: Row) throws {
        self.init(overdue: try row.decode("overdue"), dueSoon: try row.decode("due_soon"), unreported: try row.decode("unreported"))
    }
}

extension MetricCatalogue {
    /// Tokens for purchases outside the App Store. All workers show the same, as of their own last query, every five minutes.
    static let externalPurchaseTokens = ExternalPurchaseTokenStatistics.metrics.map(\.description)
}
