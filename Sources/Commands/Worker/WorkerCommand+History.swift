import History
import Logging
import Outbox
import Postgres
import Prometheus
import ServerAPI
import Systemd

extension WorkerCommand {
    /// Connections for the history, which holds one only while a statement runs.
    static let historyConnections = 2

    /// The service that reads Apple's notification history of the apps that have a key.
    static func history(
        _ settings: WorkerSettings,
        client: ServerAPIClient,
        pool: ConnectionPool,
        registry: MetricRegistry,
        logger: Logger,
        monitor: LoopMonitor? = nil
    ) -> HistoryService {
        var configuration = HistoryService.Configuration()
        configuration.exchange.extraRootPaths = settings.outboundRoots
        return HistoryService(
            pool: pool,
            client: client,
            configuration: configuration,
            logger: logger,
            metrics: registry,
            heartbeat: { monitor?.loop() ?? .none }
        )
    }
}
