import Import
import Logging
import Outbox
import Postgres
import ServerAPI
import Systemd

extension WorkerCommand {
    /// Connections for imports, which hold one only while a statement runs.
    static let importConnections = 4

    /// The service that asks Apple about the customers of imports, of the apps that have a key.
    static func imports(
        _ settings: WorkerSettings,
        client: ServerAPIClient,
        pool: ConnectionPool,
        logger: Logger,
        monitor: LoopMonitor? = nil
    ) -> ImportService {
        var configuration = ImportService.Configuration()
        configuration.exchange.extraRootPaths = settings.outboundRoots
        configuration.slots = settings.serverAPI.importRequests
        return ImportService(
            pool: pool,
            client: client,
            configuration: configuration,
            logger: logger,
            heartbeat: { monitor?.loop() ?? .none }
        )
    }
}
