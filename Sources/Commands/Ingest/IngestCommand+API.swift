import HTTPServing
import Logging
import Postgres
import Prometheus
import Schema
import ServiceLifecycle
import ShopAPI

extension IngestCommand {
    /// The listeners that have to be bound before the process is ready.
    enum Listener: Hashable {
        case notifications, admin, api
    }

    /// Tells the log and systemd that the process is ready.
    static func announce(
        _ settings: IngestSettings,
        _ ports: Readiness<Listener>.Ports,
        status: DaemonStatus,
        logger: Logger
    ) {
        logger.notice(
            "ingest is listening",
            metadata: [
                "listen": "\(settings.listen.with(port: ports[.notifications] ?? nil))",
                "listen.admin": "\(settings.adminListen.with(port: ports[.admin] ?? nil))",
            ]
        )
        guard let api = settings.api else { return status.ready("listening on \(settings.listen)") }
        logger.notice("the API is listening", metadata: ["listen.api": "\(api.listen.with(port: ports[.api] ?? nil))"])
        status.ready("listening on \(settings.listen) and \(api.listen)")
    }

    /// The connections of the API; those of the standby come in addition.
    static let apiConnections = 6

    /// The services of the API for the shop's own backend, with a pool of their own: the API cannot use up ingest's connections.
    static func api(
        _ api: IngestSettings.API,
        _ settings: IngestSettings,
        status: DaemonStatus,
        registry: MetricRegistry,
        refusalLog: RefusalLog,
        logger: Logger,
        onBound: @escaping @Sendable (Int?) async -> Void
    ) throws -> [any Service] {
        let gate = SchemaGate(.api, logger: logger.naming(pool: "api")) { status.changed("api", $0) }
        let pool = ConnectionPool(
            options: try ConnectionOptions(api.database, command: "api", role: "appstore_api"),
            configuration: ConnectionPool.Configuration(maxConnections: apiConnections, acquireTimeout: .seconds(3)).checked(by: gate),
            logger: logger
        )
        registry.observe(pool, as: "api")
        // When the feed grows, all requests that wait read it. They wait for each other, not orders for them.
        let feedPool = pool.share(of: 2, acquireTimeout: .seconds(30))
        let standby = try api.standby.map { try standbyServices($0, registry: registry, logger: logger) }
        let configuration = APIServer.Configuration(api, settings)
        let server = try APIServer(
            configuration: configuration,
            pool: pool,
            feedPool: feedPool,
            standbyPool: standby?.pool,
            logger: logger,
            metrics: registry,
            refusalLog: refusalLog,
            onBound: onBound
        )
        return (standby.map { [$0.pool, $0.watch] } ?? []) + [
            pool, DatabaseWatch(pool: pool, gate: gate, logger: logger), server,
        ]
    }

    /// While the standby is away, the primary answers: it concerns the log alone.
    private static func standbyServices(
        _ standby: DatabaseSettings,
        registry: MetricRegistry,
        logger: Logger
    ) throws -> (pool: ConnectionPool, watch: DatabaseWatch) {
        let gate = SchemaGate(.api, logger: logger.naming(pool: "standby"))
        let pool = ConnectionPool(
            options: try ConnectionOptions(standby, command: "api", role: "appstore_api"),
            configuration: ConnectionPool.Configuration(maxConnections: 8, acquireTimeout: .seconds(1)).checked(by: gate),
            logger: logger
        )
        registry.observe(pool, as: "standby")
        return (pool, DatabaseWatch(pool: pool, gate: gate, logger: logger))
    }
}

extension APIServer.Configuration {
    /// A quarter of the receiver's memory limit, but room for two of the largest receipts.
    ///
    /// The default is 16 MiB. Half of it is divided among the connections, 16 KiB each: the length of a usual receipt. Larger bodies share
    /// the other half. A request keeps its memory until its endpoint has answered, up to ten seconds where it waits for an outcome. The limit
    /// is no higher since a body is copied several times while it is read and stored, and the memory of the process is meant for
    /// notifications. A backend that gets 503 repeats the request.
    init(_ api: IngestSettings.API, _ settings: IngestSettings) {
        self.init(listen: api.listen)
        limits = ListenerLimits(settings)
        // The inbox takes 4 MiB, and stores the key's scope beside the body.
        limits.maximumBodyBytes = min(settings.bodyLimit, 1_048_576)
        receiptBytes = min(settings.legacyBodyLimit, receiptBytes)
        limits.maximumBytesInMemory = max(2 * max(limits.maximumBodyBytes, receiptBytes), settings.memoryLimit / 4)
    }
}
