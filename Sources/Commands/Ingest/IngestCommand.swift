import AppStoreVerification
import ArgumentParser
import FoundationEssentials
import HTTPServing
import Ingest
import Logging
import Postgres
import Schema
import ServiceLifecycle
import ServiceSupport
import ShopAPI

/// `appstore-inbox ingest`: the receiver.
struct IngestCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest",
        abstract: "Receives Apple's notifications and answers 200 once they are committed to the inbox.",
        discussion: """
            With --api-listen it also serves the API for the shop's own backend: orders, purchases that clients post, entitlements. Ends \
            with 0 after SIGTERM, when the requests in flight are answered.
            """
    )

    @OptionGroup var ingest: IngestOptions
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var service: ServiceOptions

    func run() async throws {
        let read: ReloadService.Read = { [service, ingest, database, daemon] () throws(SettingsError) in
            try service.reader(ingest, database, daemon)
        }
        let reader = try read()
        if daemon.checkConfig { return print(try reader.check(.ingest)) }
        let sockets = try ListenSockets(environment: ProcessInfo.processInfo.environment)
        let settings = try IngestSettings(reader, sockets: sockets)
        let level = Reloadable(try LogSettings(reader).level)
        let logger = try Logger.service("ingest", reader, level: level)
        let options = try ConnectionOptions(settings.database, command: "ingest", role: "appstore_ingest")
        for warning in reader.strangeSecrets + sockets.unused(reader) { logger.warning("\(warning)") }
        let apps = settings.sharedSecrets.counts.keys.sorted().joined(separator: ", ")
        logger.starting("ingest", options, ["apps.with-secret": "\(apps.isEmpty ? "none" : apps)"])
        let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment, logger: logger)
        let status = DaemonStatus(notifier)
        let registry = MetricRegistry(MetricCatalogue.ingest)
        MetricCatalogue.exposeProcess(in: registry)
        let secrets = Reloadable(settings.sharedSecrets)
        let reload = try await ReloadService(reader, .ingest, level: level, logger: logger, read: read) { reader in
            let settings = try IngestSettings(reader, sockets: sockets)
            for warning in reader.strangeSecrets { logger.warning("\(warning)") }
            return Self.replace(secrets, by: settings.sharedSecrets)
        }

        let committerConfiguration = GroupCommitter.Configuration()
        let gate = SchemaGate(.ingest, logger: logger.naming(pool: "ingest")) { status.changed("ingest", $0) }
        let pool = ConnectionPool(
            options: options,
            configuration: ConnectionPool.Configuration(maxConnections: committerConfiguration.maximumBatchesInFlight + 1).checked(
                by: gate
            ),
            logger: logger
        )
        registry.observe(pool, as: "ingest")
        let committer = GroupCommitter(pool: pool, configuration: committerConfiguration, logger: logger, metrics: registry)
        let refusalLog = RefusalLog(logger: logger)
        let ready = Readiness<Listener>(settings.api == nil ? [.notifications, .admin] : [.notifications, .admin, .api]) { ports in
            Self.announce(settings, ports, status: status, logger: logger)
        }
        let server = try IngestServer(
            configuration: IngestServer.Configuration(settings, heartbeatInterval: notifier.keepAlivePause),
            committer: committer,
            secrets: { secrets.current },
            logger: logger,
            registry: registry,
            refusalLog: refusalLog,
            refusal: { gate.refusal.map { .databaseRefused("\($0)") } },
            heartbeat: notifier.keepAlive
        ) { ports in
            await ready.bound(.notifications, to: ports.notifications)
            await ready.bound(.admin, to: ports.admin)
        }
        let api =
            try settings.api.map { api in
                try Self.api(api, settings, status: status, registry: registry, refusalLog: refusalLog, logger: logger) {
                    await ready.bound(.api, to: $0)
                }
            } ?? []
        // In order of dependency: services shut down in reverse.
        try await ServiceGroup.running(
            [reload, pool, committer, DatabaseWatch(pool: pool, gate: gate, logger: logger), refusalLog] + api
                + [server, StoppingNotice(notifier: notifier)],
            listeners: settings.listeners,
            shutdownTimeout: settings.shutdownTimeout,
            logger: logger
        )
        logger.notice("ingest has ended")
    }

    /// Returns the names of the settings that are in force; whether there are secrets at all decides on limits and can only change at a start.
    private static func replace(_ secrets: Reloadable<SharedSecrets>, by new: SharedSecrets) -> Set<String> {
        guard secrets.current.isEmpty == new.isEmpty else { return [] }
        secrets.replace(with: new)
        return [Settings.sharedSecrets.name]
    }
}

extension IngestServer.Configuration {
    init(_ settings: IngestSettings, heartbeatInterval: Duration) {
        self.init()
        self.heartbeatInterval = heartbeatInterval
        listen = settings.listen
        adminListen = settings.adminListen
        limits = ListenerLimits(settings)
        legacyBodyBytes = settings.legacyBodyLimit
        maximumBytesPerHour = settings.hourlyByteLimit ?? .max
    }
}

extension ListenerLimits {
    init(_ settings: IngestSettings) {
        self.init()
        maximumBodyBytes = settings.bodyLimit
        maximumBytesInMemory = settings.memoryLimit
        maximumConnections = settings.connectionLimit
        requestDeadline = settings.requestTimeout
    }
}

extension IngestCommand {
    /// The listeners that have to be bound before the process is ready.
    private enum Listener: Hashable {
        case notifications, admin, api
    }

    /// Tells the log and systemd that the process is ready.
    private static func announce(
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
