import HTTPServing
import Logging
import Postgres
import Prometheus
import Schema
import ServiceLifecycle
import ShopAPI
import Systemd

extension IngestCommand {
    /// The listeners that have to be bound before the process is ready.
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
            "the API is listening",
            metadata: ["listen.api": "\(api.listen)", "listen.api.port": "\((ports[.api] ?? nil) ?? 0)"]
        )
        notifier.ready(status: "listening on \(settings.listen) and \(api.listen)")
    }

    /// The services of the API for the shop's own backend, with a pool of their own: the API cannot use up ingest's connections.
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
    /// A quarter of the receiver's memory limit, but room for two of the largest receipts.
    ///
    /// The default is 16 MiB: 64 bodies of the usual limit, or hundreds of usual receipts, which have some ten thousand bytes. A request
    /// keeps its memory until it is answered, up to ten seconds where it waits for an outcome. Larger receipts together take half of the
    /// limit at most; the other half stays free for other requests. The limit is no higher since a body is copied several times while
    /// it is read and stored, and the memory of the process is meant for notifications. A backend that gets 503 repeats the request.
    init(_ api: IngestSettings.API, _ settings: IngestSettings) {
        self.init(listen: api.listen)
        limits = ListenerLimits(settings)
        // The inbox takes 4 MiB, and stores the key's scope beside the body.
        limits.maximumBodyBytes = min(settings.bodyLimit, 1_048_576)
        receiptBytes = min(settings.legacyBodyLimit, receiptBytes)
        limits.maximumBytesInMemory = max(2 * max(limits.maximumBodyBytes, receiptBytes), settings.memoryLimit / 4)
    }
}
