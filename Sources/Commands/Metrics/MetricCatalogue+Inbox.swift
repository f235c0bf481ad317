import InboxQueue
import Postgres
import Prometheus

extension MetricCatalogue {
    /// The state of the inbox, read from the database. Every worker exposes the same metrics, as of its own last query.
    static let inbox = [up, age] + gauges.map(\.description)

    private static let up = MetricDescription(
        "appstore_inbox_statistics_up",
        .gauge,
        "1 when the last query for the inbox metrics succeeded, 0 when it failed; they are absent then. It runs about every 15 seconds."
    )

    private static let age = MetricDescription(
        "appstore_inbox_statistics_age_seconds",
        .gauge,
        "Age of the inbox metrics: seldom more than 15 seconds, the interval of their query, or a minute where the query is slow."
    )

    /// A metric of the inbox and its value in the statistics; the value is nil where no event has such an age.
    private struct Gauge {
        let description: MetricDescription
        let value: @Sendable (InboxStatistics) -> Double?

        init(_ name: String, _ help: String, _ value: @escaping @Sendable (InboxStatistics) -> Double?) {
            description = MetricDescription("appstore_inbox_" + name, .gauge, help)
            self.value = value
        }
    }

    private static let counted = "Exact up to \(InboxStatistics.countedTo), which means as many or more."

    private static let gauges = [
        Gauge("ready_events", "Events that are due. \(counted)") { Double($0.ready) },
        Gauge("waiting_events", "Events whose next attempt is later. \(counted)") { Double($0.waiting) },
        Gauge("unsettled_events", "Events without outcome: the sum of both while they are exact, else PostgreSQL's own estimate.") {
            Double($0.unsettled)
        },
        Gauge("isolated_events", "Events that run one to a batch: their batch was lost, or they took too long. \(counted)") {
            Double($0.isolated)
        },
        Gauge("failed_events", "Dead letters: events that failed for good and wait for an operator. \(counted)") { Double($0.failed) },
        Gauge("overdue_seconds", "For how long the first ready event has been due; 0 when none is. Exact.") {
            $0.overdue.map { $0 / .seconds(1) } ?? 0
        },
        Gauge("oldest_unsettled_age_seconds", "Time since the oldest event without outcome arrived; 0 when there is none. Exact.") {
            $0.oldestUnsettled.map { $0 / .seconds(1) } ?? 0
        },
        Gauge(
            "last_notification_age_seconds",
            "Time since the last genuine notification that was settled arrived; absent before the first. Exact, or a lower bound where "
                + "none is among the newest \(InboxStatistics.countedTo) outcomes."
        ) { $0.silence.map { $0 / .seconds(1) } },
        Gauge("lost_batches", "Batches whose process died and whose events are not yet back in the queue. Exact.") {
            Double($0.lostBatches)
        },
        Gauge("partitions", "Partitions of the inbox, including the default partition. Exact.") { Double($0.partitions) },
        Gauge(
            "oldest_snapshot_age_seconds",
            "Age of the oldest snapshot of a session or prepared transaction, which keeps vacuum from removing dead rows. Exact for the "
                + "sessions that this role may see: see snapshots_complete."
        ) { $0.snapshotAge.map { $0 / .seconds(1) } ?? 0 },
        Gauge("oldest_snapshot_age_transactions", "The xmin age of the oldest snapshot in transactions, including replication slots.") {
            Double($0.snapshotTransactions)
        },
        Gauge("snapshots_complete", "1 when the oldest snapshot is that of the sessions of all roles, 0 when only of the owner's.") {
            $0.seesAllSessions ? 1 : 0
        },
    ]

    /// Exposes the latest statistics of a collector.
    static func expose(_ collector: StatisticsCollector<InboxStatistics>, in registry: MetricRegistry) {
        registry.observe(up.name) { collector.latest == nil ? 0 : 1 }
        registry.observe(age.name) { collector.age.map { $0 / .seconds(1) } }
        for gauge in gauges {
            registry.observe(gauge.description.name) { collector.latest.flatMap(gauge.value) }
        }
    }
}
