import History
import Postgres
import Prometheus

extension MetricCatalogue {
    /// Apple's notification history: what went wrong in this worker, and how far all of them have read.
    static let history =
        [
            MetricDescription(
                "appstore_inbox_history_errors_total",
                .counter,
                "Requests of this worker for the notification history that brought no page, by reason, such as rate_limited, http_503, apple_4000014, "
                    + "token_missing, token_too_long, token_repeated or answer_of_another_app."
            )
        ] + HistoryStatistics.metrics.map(\.description)
}

extension HistoryStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        .each(
            "history_covered_age_seconds",
            "Seconds since the end of the time that was read without a hole, by environment: of the app that is behind most."
        ) { $0.numbers.environments.map { MetricRegistry.Sample([("environment", $0.name)], $0.coveredAge) } },
        .each(
            "history_failing_seconds",
            "For how long a window of the history has failed, by environment: the longest; 0 where none fails."
        ) { $0.numbers.environments.map { MetricRegistry.Sample([("environment", $0.name)], $0.failing) } },
        .each(
            "history_records_total",
            "Notifications in the history by environment, mode (beside: another server may have taken them) and class: confirmed, recovered, "
                + "taken_elsewhere, refused_here, in_flight or unlisted. Of all workers.",
            .counter
        ) { $0.numbers.samples },
    ]

    /// A series for each class, also those without a record: an increase from nothing to one would not be seen.
    private var samples: [MetricRegistry.Sample] {
        let byKind = Dictionary(grouping: counts) { [$0.environment, $0.mode, $0.class] }
        return Set(environments.map(\.name) + counts.map(\.environment)).sorted().flatMap { environment in
            ["walk", "beside"].flatMap { mode in
                Self.classes.map { name in
                    let count = byKind[[environment, mode, name]]?.first?.records ?? 0
                    return MetricRegistry.Sample([("environment", environment), ("mode", mode), ("class", name)], Double(count))
                }
            }
        }
    }
}
