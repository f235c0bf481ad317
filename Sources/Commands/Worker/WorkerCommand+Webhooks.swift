import Logging
import Postgres
import Prometheus
import Systemd
import Webhooks

extension WorkerCommand {
    /// Connections for webhooks, which hold one only while a statement runs.
    static let webhookConnections = 2

    /// The service that delivers the feed to endpoints; counts its attempts in the registry.
    ///
    /// - Parameter monitor: supervises the loops of the service; nil for none.
    static func webhooks(
        _ settings: WorkerSettings,
        _ parts: ReloadableWorker,
        pool: ConnectionPool,
        registry: MetricRegistry,
        logger: Logger,
        monitor: LoopMonitor? = nil
    ) -> WebhookService {
        var configuration = WebhookService.Configuration()
        configuration.networks = settings.webhooks.networks
        configuration.proxy = settings.webhooks.proxy
        configuration.extraRootPaths = settings.outboundRoots
        configuration.userAgent = "appstore-inbox/\(Build.version)"
        configuration.ownPorts = settings.webhooks.ownPorts
        return WebhookService(
            pool: pool,
            configuration: configuration,
            masters: { parts.webhookMasters.current },
            headers: { parts.webhookHeaders.current[$0] ?? [] },
            logger: logger,
            metrics: registry,
            heartbeat: { monitor?.loop() ?? .none }
        )
    }
}
