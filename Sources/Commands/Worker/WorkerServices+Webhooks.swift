import Postgres
import Systemd
import Webhooks

extension WorkerServices {
    /// The service that delivers the feed to endpoints; counts its attempts in the registry.
    func webhooks() -> WebhookService {
        var configuration = WebhookService.Configuration()
        configuration.networks = settings.webhooks.networks
        configuration.proxy = settings.webhooks.proxy
        configuration.extraRootPaths = settings.outboundRoots
        configuration.userAgent = "appstore-inbox/\(Build.version)"
        configuration.ownPorts = settings.webhooks.ownPorts
        return WebhookService(
            // Many endpoints take no connection from the rest.
            pool: sharedPool.share(of: 2),
            configuration: configuration,
            masters: { [parts] in parts.webhookMasters.current },
            headers: { [parts] in parts.webhookHeaders.current[$0] ?? [] },
            logger: logger,
            metrics: registry,
            heartbeat: monitor.loop
        )
    }
}
