import History
import Postgres
import Prometheus

extension MetricCatalogue {
    /// Apple's notification history: what went wrong in this worker, and how far all of them have read.
    static let history = [
        MetricDescription(
            "appstore_inbox_history_errors_total",
            .counter,
            "Requests of this worker for the notification history that brought no page, by reason, such as rate_limited, http_503, apple_4000014, "
                + "token_missing, token_repeated or answer_of_another_app."
        ),
        MetricDescription(
            "appstore_inbox_history_covered_age_seconds",
            .gauge,
            "Seconds since the end of the time that was read without a hole, by environment: of the app that is behind most."
        ),
        MetricDescription(
            "appstore_inbox_history_failing_seconds",
            .gauge,
            "For how long a window of the history has failed, by environment: the longest; 0 where none fails."
        ),
        MetricDescription(
            "appstore_inbox_history_records_total",
            .counter,
            "Notifications in the history by environment, mode (beside: another server may have taken them) and class: confirmed, recovered, "
                + "taken_elsewhere, refused_here, in_flight or unlisted. Of all workers."
        ),
    ]

    /// Exposes the latest statistics of a collector; they are absent until the database has answered.
    static func expose(_ collector: StatisticsCollector<HistoryStatistics>, in registry: MetricRegistry) {
        let gauges: [(name: String, value: @Sendable (HistoryStatistics.Environment) -> Double)] = [
            ("appstore_inbox_history_covered_age_seconds", { $0.coveredAge }), ("appstore_inbox_history_failing_seconds", { $0.failing }),
        ]
        for (name, value) in gauges {
            registry.observe(
                name,
                each: {
                    (collector.latest?.numbers.environments ?? []).map { MetricRegistry.Sample([("environment", $0.name)], value($0)) }
                }
            )
        }
        registry.observe("appstore_inbox_history_records_total", each: { collector.latest.map { records($0.numbers) } ?? [] })
    }

    /// A series for each class, also those without a record: an increase from nothing to one would not be seen.
    private static func records(_ numbers: HistoryStatistics) -> [MetricRegistry.Sample] {
        let counts = Dictionary(grouping: numbers.counts) { [$0.environment, $0.mode, $0.class] }
        return Set(numbers.environments.map(\.name) + numbers.counts.map(\.environment)).sorted().flatMap { environment in
            ["walk", "beside"].flatMap { mode in
                HistoryStatistics.classes.map { name in
                    let count = counts[[environment, mode, name]]?.first?.records ?? 0
                    return MetricRegistry.Sample([("environment", environment), ("mode", mode), ("class", name)], Double(count))
                }
            }
        }
    }
}
