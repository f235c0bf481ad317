import Postgres
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
        ] + numbers.map(\.description)

    /// A metric and its value in the statistics.
    private struct Number {
        let description: MetricDescription
        let value: @Sendable (StatisticsCollector<ConsumptionStatistics>.Reading) -> Double?
    }

    private static let numbers = [
        Number(
            description: MetricDescription(
                "appstore_inbox_consumption_open",
                .gauge,
                "Consumption requests for whose answer Apple waits, and that are to be answered by policy. Exact up to "
                    + "\(ConsumptionStatistics.countedTo), which means as many or more."
            )
        ) { Double($0.numbers.open) },
        Number(
            description: MetricDescription(
                "appstore_inbox_consumption_due_seconds",
                .gauge,
                "Time until the first of them is due of which nothing was decided, or whose answer Apple refused; absent where there is none."
            )
        ) { reading in reading.numbers.due.map { $0 / .seconds(1) } },
        Number(
            description: MetricDescription(
                "appstore_inbox_consumption_missed_total",
                .counter,
                "Consumption requests that were to be answered by policy, and were not until they were due or Apple decided. Each is counted "
                    + "some 70 minutes after it was due."
            )
        ) { Double($0.numbers.missed) },
    ]

    /// Exposes the latest statistics of a collector; they are absent until the database has answered.
    static func expose(_ collector: StatisticsCollector<ConsumptionStatistics>, in registry: MetricRegistry) {
        for number in numbers {
            registry.observe(number.description.name) { collector.latest.flatMap(number.value) }
        }
    }
}
