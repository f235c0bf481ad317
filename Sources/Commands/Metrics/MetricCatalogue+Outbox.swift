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
                "Attempts of this worker to call verifyReceipt, by the call's kind and result: answered, refused (for good), given_up (past its deadline), "
                    + "postponed, or late (another worker has taken over the call)."
            ),
            MetricDescription(
                "appstore_inbox_outbox_exchange_seconds",
                .histogram(bounds: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]),
                "Time from a request to verifyReceipt to its complete response, or to its failure."
            ),
        ] + numbers.map(\.description)

    /// A metric of the outbox and its value in the statistics.
    private struct Number {
        let description: MetricDescription
        let value: @Sendable (StatisticsCollector<OutboxStatistics>.Reading) -> Double?
    }

    private static let numbers = [
        Number(
            description: MetricDescription(
                "appstore_inbox_outbox_open_calls",
                .gauge,
                "Calls that wait for an answer. Exact up to \(OutboxStatistics.countedTo), which means as many or more."
            )
        ) { Double($0.numbers.open) },
        Number(
            description: MetricDescription(
                "appstore_inbox_outbox_oldest_call_timestamp_seconds",
                .gauge,
                "When the oldest open call was requested, in seconds since 1970; absent where there is none."
            )
        ) { reading in reading.numbers.oldest.map { reading.time - $0 / .seconds(1) } },
    ]

    /// Exposes the latest statistics of a collector; they are absent until the database has answered.
    static func expose(_ collector: StatisticsCollector<OutboxStatistics>, in registry: MetricRegistry) {
        for number in numbers {
            registry.observe(number.description.name) { collector.latest.flatMap(number.value) }
        }
    }
}
