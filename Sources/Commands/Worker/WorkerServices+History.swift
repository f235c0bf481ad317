import History
import Outbox
import Systemd

extension WorkerServices {
    /// The service that reads Apple's notification history of the apps that have a key.
    func history() -> HistoryService {
        var configuration = HistoryService.Configuration()
        configuration.exchange.extraRootPaths = settings.outboundRoots
        return HistoryService(
            pool: sharedPool,
            client: client,
            configuration: configuration,
            logger: logger,
            metrics: registry,
            heartbeat: monitor.loop
        )
    }
}
