import Inbox
import Prometheus

extension MetricCatalogue {
    /// The inbox as the database tells it; every worker shows the same, as of its own last question.
    static let inbox = [up, age] + gauges.map(\.description)

    private static let up = MetricDescription(
        "appstore_inbox_statistics_up",
        .gauge,
        "1 when the last question for the inbox's numbers, asked every 15 seconds or so, was answered; without an answer they are absent."
    )

    private static let age = MetricDescription(
        "appstore_inbox_statistics_age_seconds",
        .gauge,
        "How old the inbox's numbers are: seldom more than the 15 seconds between two questions, or a minute where answers take long."
    )

    /// A number of the inbox, and where it comes from; nil where nothing is that could be old.
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
        Gauge("isolated_events", "Events that run by themselves: their batch was lost, or they took too long. \(counted)") {
            Double($0.isolated)
        },
        Gauge("failed_events", "Dead letters: events that failed for good and wait for a person. \(counted)") { Double($0.failed) },
        Gauge("overdue_seconds", "For how long the first ready event has been due; 0 when none is. Exact.") {
            $0.overdue?.inSeconds ?? 0
        },
        Gauge("oldest_unsettled_age_seconds", "Since the arrival of the oldest event without outcome; 0 when there is none. Exact.") {
            $0.oldestUnsettled?.inSeconds ?? 0
        },
        Gauge(
            "last_notification_age_seconds",
            "Since the arrival of the last genuine notification that was settled, absent before the first. Exact, or a lower bound where "
                + "none is among the newest \(InboxStatistics.countedTo) outcomes."
        ) { $0.silence?.inSeconds },
        Gauge("lost_batches", "Batches whose process died, and whose events are not back in the queue yet. Exact.") {
            Double($0.lostBatches)
        },
        Gauge("partitions", "Partitions of the inbox, the default one included. Exact.") { Double($0.partitions) },
        Gauge(
            "oldest_snapshot_age_seconds",
            "Age of the oldest snapshot of a session or prepared transaction, which keeps vacuum from removing dead rows. Exact for the "
                + "sessions that may be seen: see snapshots_complete."
        ) { $0.snapshotAge?.inSeconds ?? 0 },
        Gauge("oldest_snapshot_age_transactions", "The xmin age: the same in transactions, replication slots included.") {
            Double($0.snapshotTransactions)
        },
        Gauge("snapshots_complete", "1 when the sessions of all roles were looked at for the oldest snapshot, 0 when only the owner's.") {
            $0.seesAllSessions ? 1 : 0
        },
    ]

    /// Exposes the latest numbers of a collector.
    static func expose(_ collector: StatisticsCollector, in registry: MetricRegistry) {
        registry.observe(up.name) { collector.latest == nil ? 0 : 1 }
        registry.observe(age.name) { collector.age?.inSeconds }
        for gauge in gauges {
            registry.observe(gauge.description.name) { collector.latest.flatMap(gauge.value) }
        }
    }
}

extension Duration {
    fileprivate var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
