import Outbox
import Postgres
import Prometheus

extension MetricCatalogue {
    /// Calls to other services that the ledger requests.
    static let outbox =
        [
            MetricDescription(
                "appstore_inbox_outbox_attempts_total",
                .counter,
                "Attempts of this worker, by the call's kind and result: answered, refused (for good), given_up (past its deadline), "
                    + "postponed, or late (another worker has taken over the call)."
            ),
            MetricDescription(
                "appstore_inbox_outbox_exchange_seconds",
                .histogram(bounds: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]),
                "Time from a request to its complete response, or to its failure."
            ),
        ] + numbers.map(\.description)

    /// A metric of the outbox and its value in the statistics.
    private struct Number {
        let description: MetricDescription
        let value: @Sendable (OutboxStatistics) -> Double
    }

    private static let numbers = [
        Number(
            description: MetricDescription(
                "appstore_inbox_outbox_open_calls",
                .gauge,
                "Calls that wait for an answer. Exact up to \(OutboxStatistics.countedTo), which means as many or more."
            )
        ) { Double($0.open) },
        Number(
            description: MetricDescription(
                "appstore_inbox_outbox_oldest_call_age_seconds",
                .gauge,
                "Time since the oldest open call was requested; 0 when there is none."
            )
        ) { $0.oldest.map { $0 / .seconds(1) } ?? 0 },
    ]

    /// Exposes the latest statistics of a collector; they are absent until the database has answered.
    static func expose(_ collector: StatisticsCollector<OutboxStatistics>, in registry: MetricRegistry) {
        for number in numbers {
            registry.observe(number.description.name) { collector.latest.map(number.value) }
        }
    }
}
