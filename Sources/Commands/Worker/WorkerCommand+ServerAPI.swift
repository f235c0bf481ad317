import Consumption
import Inquiries
import Logging
import Outbox
import Postgres
import Prometheus
import ServerAPI

extension WorkerCommand {
    /// Asks the App Store Server API, about the apps that have a key.
    static func serverAPI(
        _ settings: WorkerSettings,
        _ parts: ReloadableWorker,
        pool: ConnectionPool,
        registry: MetricRegistry,
        logger: Logger
    ) -> ServerAPIClient {
        ServerAPIClient(
            hosts: settings.serverAPI.hosts,
            keys: { parts.apiKeys.current },
            budget: SharedBudget(pool: pool, share: settings.serverAPI.share, logger: logger),
            logger: logger,
            metrics: registry,
            now: { LogOutput.standardError.now() }
        )
    }

    /// Makes the calls of the outbox that ask the App Store Server API. Without a key they lease nothing.
    static func serverAPIHandlers(_ client: ServerAPIClient, registry: MetricRegistry) -> [any CallHandler] {
        [ServerAPICallHandler.consumption(client, metrics: registry)] + ServerAPICallHandler.inquiries(client)
    }
}
