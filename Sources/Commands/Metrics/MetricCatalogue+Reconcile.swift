import Postgres
import Prometheus
import Reconcile

extension MetricCatalogue {
    /// Questions about contracts that look stale. All workers show the same, as read from the database.
    static let reconcile = [
        MetricDescription(
            "appstore_inbox_reconcile_questions_total",
            .counter,
            "Questions to Apple about contracts, by rule: expired_silent, no_renewal_info, in_retry, revoked_doubt, price_consent, sample or operator."
        ),
        MetricDescription(
            "appstore_inbox_reconcile_changed_total",
            .counter,
            "Those whose answer changed what the customer may use, or until when, by rule. A rule that never changes anything is not worth asking."
        ),
        MetricDescription(
            "appstore_inbox_books_wrong_ratio",
            .gauge,
            "The share of the random sample of active contracts of the last 30 days of which Apple's answer changed the ledger; absent without an answer."
        ),
    ]

    /// Exposes the latest statistics of a collector; they are absent until the database has answered.
    static func expose(_ collector: StatisticsCollector<ReconcileStatistics>, in registry: MetricRegistry) {
        let counters: [(name: String, value: @Sendable (ReconcileStatistics.Rule) -> Int64)] = [
            ("appstore_inbox_reconcile_questions_total", { $0.questions }), ("appstore_inbox_reconcile_changed_total", { $0.changed }),
        ]
        for (name, value) in counters {
            registry.observe(
                name,
                each: {
                    (collector.latest?.numbers.rules ?? []).map { MetricRegistry.Sample([("rule", $0.name)], Double(value($0))) }
                }
            )
        }
        registry.observe("appstore_inbox_books_wrong_ratio") { collector.latest?.numbers.wrongRatio }
    }
}
