import Import
import Outbox
import Systemd

extension WorkerServices {
    /// The service that asks Apple about the customers of imports, of the apps that have a key.
    func imports() -> ImportService {
        var configuration = ImportService.Configuration()
        configuration.exchange.extraRootPaths = settings.outboundRoots
        configuration.slots = settings.serverAPI.importRequests
        return ImportService(pool: sharedPool, client: client, configuration: configuration, logger: logger, heartbeat: monitor.loop)
    }
}
