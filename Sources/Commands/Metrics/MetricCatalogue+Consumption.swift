import Prometheus

extension MetricCatalogue {
    /// Answers to Apple's consumption requests. All workers show the same requests, as read from the database.
    static let consumption =
        [
            MetricDescription(
                "appstore_inbox_consumption_answered_seconds",
                .histogram(bounds: [60, 300, 900, 1800, 3600, 7200, 14_400, 21_600, 28_800, 36_000, 39_600, 43_200]),
                "Time from Apple's first request to the answer of this worker that Apple took."
            )
        ] + ConsumptionStatistics.metrics.map(\.description)
}

extension ConsumptionStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        CollectedMetric(
            "consumption_open",
            "Consumption requests for whose answer Apple waits, and that are to be answered by policy. Exact up to "
                + "\(countedTo), which means as many or more."
        ) { Double($0.open) },
        CollectedMetric(
            "consumption_due_seconds",
            "Time until the first of them is due of which nothing was decided, or whose answer Apple refused; absent where there is none."
        ) { $0.due.map { $0 / .seconds(1) } },
        CollectedMetric(
            "consumption_missed_total",
            "Consumption requests that were to be answered by policy, and were not until they were due or Apple decided. Each is counted "
                + "some 70 minutes after it was due.",
            .counter
        ) { Double($0.missed) },
    ]
}
