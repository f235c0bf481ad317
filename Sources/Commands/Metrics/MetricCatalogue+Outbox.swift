import Outbox
import Prometheus

extension MetricCatalogue {
    /// Calls to other services that the ledger requests.
    static let outbox =
        [
            MetricDescription(
                "appstore_inbox_outbox_attempts_total",
                .counter,
                "Attempts of this worker at calls, by the call's kind and result: answered, refused (for good), given_up (past its deadline), "
                    + "postponed, or late (another worker has taken over the call)."
            ),
            MetricDescription(
                "appstore_inbox_outbox_exchange_seconds",
                .histogram(bounds: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]),
                "Time from a request of a call to its complete response, or to its failure."
            ),
        ] + OutboxStatistics.metrics.map(\.description)
}

extension OutboxStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        CollectedMetric(
            "outbox_open_calls",
            "Calls that wait for an answer. Exact up to \(countedTo), which means as many or more."
        ) { Double($0.open) },
        CollectedMetric("outbox_oldest_call_timestamp_seconds", at: "When the oldest open call was requested") { $0.oldest },
    ]
}
