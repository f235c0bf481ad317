import Outbox
import Prometheus

extension MetricCatalogue {
    /// Calls to others that the books ask for.
    static let outbox =
        [
            MetricDescription(
                "appstore_inbox_outbox_attempts_total",
                .counter,
                "Attempts at calls that this worker made, by kind and by what became of the call: answered, refused (no later answer would be "
                    + "another one), given_up (its time was over), postponed, or late (somebody else had it by then)."
            ),
            MetricDescription(
                "appstore_inbox_outbox_exchange_seconds",
                .histogram(bounds: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]),
                "From a request to its whole answer, or to its failure."
            ),
        ] + numbers.map(\.description)

    /// A number of the outbox, and where it comes from.
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
                "Since the oldest open call was asked for; 0 when there is none."
            )
        ) { $0.oldest.map { Double($0.components.seconds) + Double($0.components.attoseconds) / 1e18 } ?? 0 },
    ]

    /// Exposes the latest numbers of a collector; without an answer of the database they are absent.
    static func expose(_ collector: OutboxCollector, in registry: MetricRegistry) {
        for number in numbers {
            registry.observe(number.description.name) { collector.latest.map(number.value) }
        }
    }
}
