import Postgres
import Prometheus
import ServerAPI

extension MetricCatalogue {
    /// Questions to Apple's App Store Server API: what this worker asked, and the budget that all workers share.
    static let serverAPI =
        [
            MetricDescription(
                "appstore_inbox_server_api_requests_total",
                .counter,
                "Requests of this worker to the App Store Server API, by endpoint, HTTP status or failure, and Apple's error code (none, or other: "
                    + "not documented)."
            ),
            MetricDescription(
                "appstore_inbox_server_api_key_refused_total",
                .counter,
                "Answers 401 of the App Store Server API, by cause, as far as other answers tell: clock, app_not_released, key, issuer, bundle_id, "
                    + "revoked or unknown."
            ),
            MetricDescription(
                "appstore_inbox_server_api_clock_skew_seconds",
                .gauge,
                "This machine's clock minus Apple's, at the latest answer."
            ),
        ] + BudgetStatistics.metrics.map(\.description)
}

extension BudgetStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        .each(
            "server_api_blocked_seconds",
            "Seconds until an endpoint may be asked again after a 429, by endpoint and environment: the longest of all apps."
        ) { $0.numbers.budgets.map { MetricRegistry.Sample($0.labels, $0.blockedSeconds) } },
        .each(
            "server_api_budget_used_ratio",
            "Requests of all workers in this hour in relation to the budget of an hour, by endpoint and environment: the highest of all apps."
        ) { $0.numbers.budgets.map { MetricRegistry.Sample($0.labels, $0.usedRatio) } },
    ]
}

extension BudgetStatistics.Budget {
    fileprivate var labels: [(String, String)] { [("endpoint", endpoint), ("environment", environment)] }
}
