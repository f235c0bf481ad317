import HTTPServing
import Logging
import Postgres
import Prometheus
import Schema
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
        gate: SchemaGate,
        registry: MetricRegistry,
        logger: Logger,
        onBound: @escaping @Sendable (Int?) async -> Void
    ) throws -> [any Service] {
        let pool = ConnectionPool(
            options: try ConnectionOptions(api.database, command: "api", role: "appstore_api"),
            configuration: ConnectionPool.Configuration(maxConnections: 8, acquireTimeout: .seconds(3)).checked(by: gate),
            logger: logger
        )
        registry.observe(pool, as: "api")
        let configuration = APIServer.Configuration(api, settings)
        return [pool, try APIServer(configuration: configuration, pool: pool, logger: logger, metrics: registry, onBound: onBound)]
    }
}

extension APIServer.Configuration {
    /// A quarter of what the receiver has, but room for two of the largest receipts.
    ///
    /// A request keeps its memory until it is answered, which is ten seconds for one that waits for an outcome in vain. By default there
    /// are 16 MiB: for 64 bodies of the usual limit at once, and for hundreds of usual receipts, which have some ten thousand bytes. Half
    /// of it is the most for larger receipts together, so that at the least one of the largest can be received while the other half is
    /// there for whatever else the backend asks. More is not taken: a body is in memory several times while it is read and stored, the
    /// process is limited by its unit, and its memory is meant for notifications; a backend that is told 503 asks again.
    init(_ api: IngestSettings.API, _ settings: IngestSettings) {
        self.init(listen: api.listen)
        limits = ListenerLimits(settings)
        // With the key's scope beside it a body must still fit into the inbox, which takes 4 MiB.
        limits.maximumBodyBytes = min(settings.bodyLimit, 1_048_576)
        receiptBytes = min(settings.legacyBodyLimit, receiptBytes)
        limits.maximumBytesInMemory = max(2 * max(limits.maximumBodyBytes, receiptBytes), settings.memoryLimit / 4)
    }
}
