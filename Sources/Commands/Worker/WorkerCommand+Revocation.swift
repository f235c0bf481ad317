import AppStoreVerification
import Interpretation
import Logging
import Postgres
import Prometheus
import Revocation
import ServiceLifecycle
import Systemd
import Worker

extension WorkerCommand {
    /// The service that asks whether the certificates that sign are revoked, and makes the parts refuse what those signed that are.
    ///
    /// - Parameter monitor: supervises the loop of the service; nil for none.
    static func revocation(
        _ settings: WorkerSettings,
        _ parts: ReloadableWorker,
        pool: ConnectionPool,
        logger: Logger,
        monitor: LoopMonitor? = nil
    ) -> RevocationService {
        var configuration = RevocationService.Configuration()
        configuration.asks = settings.asksResponders
        return RevocationService(
            pool: pool,
            configuration: configuration,
            hosts: { parts.responderHosts.current },
            used: { parts.processor.current.reader.verifier.takeUsedCertificates() },
            apply: { parts.apply($0) },
            logger: logger,
            heartbeat: { monitor?.loop() ?? .none }
        )
    }

    /// The collector of the metrics about certificates; none in a worker that does not ask, whose numbers would only grow old.
    static func revocationCollector(
        _ settings: WorkerSettings,
        pool: ConnectionPool,
        registry: MetricRegistry,
        logger: Logger
    ) -> [any Service] {
        guard settings.asksResponders else { return [] }
        let collector = StatisticsCollector<RevocationStatistics>(pool: pool, logger: logger)
        MetricCatalogue.expose(collector, in: registry)
        return [collector]
    }
}
