import HTTPServing
import Logging
import Postgres
import Prometheus
import ServiceLifecycle
import ShopAPI
import Systemd

extension IngestCommand {
    /// What has to be bound before the process is ready.
    enum Listener: Hashable {
        case ingest, api
    }

    /// Tells systemd that the process is ready.
    static func announce(
        _ settings: IngestSettings,
        _ ports: Readiness<Listener>.Ports,
        notifier: ServiceNotifier,
        logger: Logger
    ) {
        guard let api = settings.api else { return notifier.ready(status: "listening on \(settings.listen)") }
        logger.notice(
            "the interface is listening",
            metadata: ["listen.api": "\(api.listen)", "listen.api.port": "\((ports[.api] ?? nil) ?? 0)"]
        )
        notifier.ready(status: "listening on \(settings.listen) and \(api.listen)")
    }

    /// What serves the shop's own backend: a pool of its own role, so that neither it nor ingest can use up the other's connections.
    static func api(
        _ api: IngestSettings.API,
        _ settings: IngestSettings,
        registry: MetricRegistry,
        logger: Logger,
        onBound: @escaping @Sendable (Int?) async -> Void
    ) throws -> [any Service] {
        let pool = ConnectionPool(
            options: try ConnectionOptions(api.database, command: "api"),
            configuration: ConnectionPool.Configuration(maxConnections: 8, acquireTimeout: .seconds(3)),
            logger: logger
        )
        registry.observe(pool, as: "api")
        var configuration = APIServer.Configuration(listen: api.listen)
        configuration.limits = ListenerLimits(settings)
        // With the key's scope beside it a body must still fit into the inbox, which takes 4 MiB.
        configuration.limits.maximumBodyBytes = min(settings.bodyLimit, 1_048_576)
        // A backend asks little at once, and the memory of the process is meant for notifications.
        configuration.receiptBytes = min(settings.legacyBodyLimit, configuration.receiptBytes)
        let largest = max(configuration.limits.maximumBodyBytes, configuration.receiptBytes)
        configuration.limits.maximumBytesInMemory = max(largest, settings.memoryLimit / 4)
        return [pool, try APIServer(configuration: configuration, pool: pool, logger: logger, metrics: registry, onBound: onBound)]
    }
}
