import Postgres
import Prometheus
import Reconcile

extension MetricCatalogue {
    /// Questions about contracts that look stale. All workers show the same, as read from the database.
    static let reconcile = ReconcileStatistics.metrics.map(\.description)
}

extension ReconcileStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        .each(
            "reconcile_questions_total",
            "Questions to Apple about contracts, by rule: expired_silent, no_renewal_info, in_retry, revoked_doubt, price_consent, sample or operator.",
            .counter
        ) { $0.numbers.rules.map { MetricRegistry.Sample([("rule", $0.name)], Double($0.questions)) } },
        .each(
            "reconcile_changed_total",
            "Those whose answer changed what the customer may use, or until when, by rule. A rule that never changes anything is not worth asking.",
            .counter
        ) { $0.numbers.rules.map { MetricRegistry.Sample([("rule", $0.name)], Double($0.changed)) } },
        CollectedMetric(
            "books_wrong_ratio",
            "The share of the random sample of active contracts of the last 30 days of which Apple's answer changed the ledger; absent without an answer."
        ) { $0.wrongRatio },
    ]
}
