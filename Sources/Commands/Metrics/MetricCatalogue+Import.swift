import Import
import Postgres
import Prometheus

extension MetricCatalogue {
    /// The running imports, of all workers.
    static let imports = [
        MetricDescription("appstore_inbox_import_remaining", .gauge, "Customers of running imports that Apple has not answered yet."),
        MetricDescription(
            "appstore_inbox_import_eta_seconds",
            .gauge,
            "Seconds until the last running import is done, at the rate of the last ten minutes; absent while no rate is known."
        ),
    ]

    /// Exposes the latest statistics of a collector; they are absent until the database has answered.
    static func expose(_ collector: StatisticsCollector<ImportStatistics>, in registry: MetricRegistry) {
        registry.observe("appstore_inbox_import_remaining") { collector.latest.map { Double($0.numbers.remaining) } }
        registry.observe("appstore_inbox_import_eta_seconds") { (collector.latest?.numbers.timeLeft).map { max(0, $0) } }
    }
}
