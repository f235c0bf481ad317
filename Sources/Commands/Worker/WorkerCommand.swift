import AppStore
import AppStoreVerification
import ArgumentParser
import Feed
import FoundationEssentials
import HTTPServing
import History
import Import
import InboxQueue
import Interpretation
import Logging
import NIOPosix
import Outbox
import Postgres
import Prometheus
import Reconcile
import Revocation
import Schema
import ServerAPI
import ServiceLifecycle
import Systemd
import Worker

/// `appstore-inbox worker`: processes the events of the inbox and merges them into the ledger.
struct WorkerCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Verifies the events of the inbox, merges them into the ledger and records an outcome for each.",
        discussion: "Any number of workers may run. Ends with 0 after SIGTERM, when the batches in flight are committed."
    )

    @OptionGroup var worker: WorkerOptions
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var service: ServiceOptions

    func run() async throws {
        let read: ReloadService.Read = { [service, worker, database, daemon] () throws(SettingsError) in
            try service.reader(worker, database, daemon)
        }
        let reader = try read()
        if daemon.checkConfig { return print(try reader.check(.worker)) }
        let settings = try WorkerSettings(reader)
        let level = Reloadable(try LogSettings(reader).level)
        let logger = try Logger.service("worker", reader, level: level)
        for warning in settings.warnings + reader.strangeSecrets + reader.strangeIssuers { logger.warning("\(warning)") }
        let options = try ConnectionOptions(settings.database, command: "worker", role: "appstore_worker")
        logger.starting("worker", options, settings.summary)
        let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment, logger: logger)
        let status = DaemonStatus(notifier)
        let registry = MetricRegistry(MetricCatalogue.worker)
        MetricCatalogue.exposeProcess(in: registry)
        let parts = ReloadableWorker(settings, registry: registry)
        let reload = try await ReloadService(reader, .worker, level: level, logger: logger, read: read) { reader in
            let settings = try WorkerSettings(reader)
            parts.apply(settings)
            for warning in settings.warnings + reader.strangeSecrets + reader.strangeIssuers { logger.warning("\(warning)") }
            status.works(settings.work)
            return ReloadableWorker.settings
        }
        let gate = SchemaGate(.worker, logger: logger.naming(pool: "worker")) { status.changed("worker", $0) }
        // One each for isolated events, for maintenance, for statistics, for the feed, and for the reconciliation.
        let connections = settings.concurrency + 5 + Self.outboxConnections + Self.historyConnections + Self.importConnections
        let pool = Self.pool(options, connections: connections, gate: gate, logger: logger)
        registry.observe(pool, as: "worker")
        // Of their own, so that many endpoints keep no connection from the rest.
        let webhookPool = Self.pool(options, connections: Self.webhookConnections, gate: gate, logger: logger)
        registry.observe(webhookPool, as: "webhooks")
        let pools = (worker: pool, webhooks: webhookPool)
        let (services, admin) = try Self.services(settings, parts, gate, pools, registry: registry, notifier: notifier, logger: logger) {
            status.ready(settings.work)
            logger.notice("worker is running")
        }
        // In order of dependency: services shut down in reverse.
        try await ServiceGroup.running(
            [reload] + services + [StoppingNotice(notifier: notifier)],
            after: { for server in admin { try await server.bind() } },
            listeners: settings.adminListen.map { [ListenerSetting(Settings.workerAdminListen, $0)] } ?? [],
            shutdownTimeout: settings.shutdownTimeout,
            logger: logger
        )
        logger.notice("worker has ended")
    }

    private static func pool(_ options: ConnectionOptions, connections: Int, gate: SchemaGate, logger: Logger) -> ConnectionPool {
        ConnectionPool(
            options: options,
            configuration: ConnectionPool.Configuration(maxConnections: connections).checked(by: gate),
            logger: logger
        )
    }

    /// All services, and those of them that listen, which are bound before any runs.
    ///
    /// - Parameter announce: called when the worker is ready.
    private static func services(
        _ settings: WorkerSettings,
        _ parts: ReloadableWorker,
        _ gate: SchemaGate,
        _ pools: (worker: ConnectionPool, webhooks: ConnectionPool),
        registry: MetricRegistry,
        notifier: ServiceNotifier,
        logger: Logger,
        announce: @escaping @Sendable () -> Void
    ) throws -> (all: [any Service], admin: [AdminServer]) {
        let pool = pools.worker
        let inbox = StatisticsCollector<InboxStatistics>(pool: pool, logger: logger)
        let admin = admin(settings, registry: registry, collector: inbox, gate: gate, logger: logger, announce: announce)
        let listeners: [any Service] = admin.isEmpty ? [ReadyNotice(announce: announce)] : admin
        func collector<Numbers: ExposedStatistics>(_: Numbers.Type) -> StatisticsCollector<Numbers> {
            let collector = StatisticsCollector<Numbers>(pool: pool, logger: logger)
            collector.expose(in: registry)
            return collector
        }
        // The budget's and the history's always, since a reload may add the first key.
        var collectors: [any Service] = [
            inbox, collector(OutboxStatistics.self), collector(EndpointStatistics.self), collector(BudgetStatistics.self),
            collector(HistoryStatistics.self), collector(ReconcileStatistics.self), collector(ImportStatistics.self),
            collector(ConsumptionStatistics.self),
        ]
        // The numbers of a worker that does not ask would only grow old.
        if settings.asksResponders { collectors.append(collector(RevocationStatistics.self)) }
        let maintenance = MaintenanceService(pool: pool, logger: logger, metrics: registry)
        let loops = try loops(settings, parts, pools, registry: registry, notifier: notifier, logger: logger)
        return ([pool, pools.webhooks] + listeners + collectors + [maintenance] + loops, admin)
    }

    /// The services that process events and make calls, and the heartbeat that reports their progress to systemd.
    private static func loops(
        _ settings: WorkerSettings,
        _ parts: ReloadableWorker,
        _ pools: (worker: ConnectionPool, webhooks: ConnectionPool),
        registry: MetricRegistry,
        notifier: ServiceNotifier,
        logger: Logger
    ) throws -> [any Service] {
        let pool = pools.worker
        // More than the longest step: a batch that runs again event by event. Waiting for the database is progress.
        let monitor = LoopMonitor(limit: .seconds(180))
        let revocation = revocation(settings, parts, pool: pool, logger: logger, monitor: monitor)
        let client = serverAPI(settings, parts, pool: pool, registry: registry, logger: logger)
        return [
            Heartbeat(
                every: notifier.keepAlivePause,
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
                isStuck: { monitor.isStuck },
                beat: notifier.keepAlive
            ),
            FeedService(pool: pool, logger: logger, heartbeat: { monitor.loop() }),
            outbox(settings, parts, client: client, pool: pool, registry: registry, logger: logger, monitor: monitor),
            history(settings, client: client, pool: pool, registry: registry, logger: logger, monitor: monitor),
            imports(settings, client: client, pool: pool, logger: logger, monitor: monitor),
            reconcile(settings, client: client, pool: pool, logger: logger, monitor: monitor),
            webhooks(settings, parts, pool: pools.webhooks, registry: registry, logger: logger, monitor: monitor),
            revocation,
            WorkerService(
                queue: queue(settings, parts.processor, pool: pool, registry: registry, logger: logger),
                configuration: WorkerService.Configuration(concurrency: settings.concurrency),
                prepare: { await revocation.prepare() },
                logger: logger,
                heartbeat: { monitor.loop() }
            ),
        ]
    }

    /// The service that verifies and merges events; counts its work in the registry.
    static func queue(
        _ settings: WorkerSettings,
        _ processor: Reloadable<EventProcessor>,
        pool: ConnectionPool,
        registry: MetricRegistry,
        logger: Logger
    ) -> EventQueue<EventProcessor.Prepared> {
        var configuration = EventQueue<EventProcessor.Prepared>.Configuration()
        configuration.batchEvents = settings.batchSize
        configuration.maximumAttempts = settings.maximumAttempts
        let queue = EventQueue(
            pool: pool,
            configuration: configuration,
            logger: logger,
            metrics: QueueMetrics(types: notificationTypes, factory: registry),
            prepare: { processor.current.prepare($0) },
            subjects: { processor.current.subjects($0) },
            labels: { processor.current.labels($0) },
            merge: { try await processor.current.merge($0, in: $1) }
        )
        registry.observe(queue.side, as: "markers")
        return queue
    }

    /// The values of the metrics' label for types, of both versions of notifications.
    private static var notificationTypes: Set<String> {
        Set(NotificationMatrix.subtypes.keys.map(\.rawValue)).union(NotificationTypeV1.documented.map(\.rawValue))
    }
}
