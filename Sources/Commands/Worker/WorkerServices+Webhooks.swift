import Systemd
import Webhooks

extension WorkerServices {
    /// Connections for webhooks, which hold one only while a statement runs.
    static let webhookConnections = 2

    /// The service that delivers the feed to endpoints; counts its attempts in the registry.
    func webhooks() -> WebhookService {
        var configuration = WebhookService.Configuration()
        configuration.networks = settings.webhooks.networks
        configuration.proxy = settings.webhooks.proxy
        configuration.extraRootPaths = settings.outboundRoots
        configuration.userAgent = "appstore-inbox/\(Build.version)"
        configuration.ownPorts = settings.webhooks.ownPorts
        return WebhookService(
            pool: webhookPool,
            configuration: configuration,
            masters: { [parts] in parts.webhookMasters.current },
            headers: { [parts] in parts.webhookHeaders.current[$0] ?? [] },
            logger: logger,
            metrics: registry,
            heartbeat: monitor.loop
        )
    }
}
