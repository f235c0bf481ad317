import AppStore
import AppStoreVerification
import ArgumentParser
import FoundationEssentials
import Inbox
import Logging
import Outbox
import Postgres
import Prometheus
import Schema
import ServiceLifecycle
import Systemd
import Worker

/// `appstore-inbox worker`: takes events off the inbox and keeps the books.
struct WorkerCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Verifies what is in the inbox, merges it into the books and records an outcome for each event.",
        discussion: "Run as many as you like. Ends with 0 after SIGTERM, when the batches in flight are committed."
    )

    @OptionGroup var worker: WorkerOptions
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    func run() async throws {
        let reader = try service.reader(worker, database)
        if service.checkConfig { return print(try reader.report(.worker)) }
        let settings = try WorkerSettings(reader)
        let logger = try Logger.service("worker", reader)
        for warning in settings.warnings { logger.warning("\(warning)") }
        let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment, logger: logger)
        let registry = MetricRegistry(MetricCatalogue.worker)

        let gate = SchemaGate(logger: logger)
        // One for maintenance, one for the numbers of inbox and outbox.
        let connections = settings.concurrency + 2 + Self.outboxConnections
        let pool = ConnectionPool(
            options: try ConnectionOptions(settings.database, command: "worker", role: "appstore_worker"),
            configuration: ConnectionPool.Configuration(maxConnections: connections).checked(by: gate),
            logger: logger
        )
        registry.observe(pool, as: "worker")
        let collector = StatisticsCollector(pool: pool, logger: logger)
        let outboxCollector = OutboxCollector(pool: pool, logger: logger)
        MetricCatalogue.expose(outboxCollector, in: registry)
        let watchdog = Watchdog(notifier: notifier)
        let loops = (0..<settings.concurrency).map { _ in watchdog.loop() }
        let service = WorkerService(
            queue: try Self.queue(settings, pool: pool, registry: registry, logger: logger),
            configuration: WorkerService.Configuration(concurrency: settings.concurrency),
            logger: logger,
            heartbeat: WorkerService.Heartbeat(beat: { loops[$0].beat() }, finish: { loops[$0].finish() })
        )
        let announce: @Sendable () -> Void = {
            notifier.ready(status: "keeping the books of \(settings.apps.map(\.bundleID).joined(separator: ", "))")
            logger.notice("worker is running", metadata: ["worker.concurrency": "\(settings.concurrency)"])
        }
        let admin = Self.admin(settings, registry: registry, collector: collector, gate: gate, logger: logger, announce: announce)
        let listeners: [any Service] = admin.isEmpty ? [ReadyNotice(announce: announce)] : admin
        // In the order of dependency: the last is the first to shut down.
        try await ServiceGroup.running(
            [pool] + listeners + [collector, outboxCollector, MaintenanceService(pool: pool, logger: logger, metrics: registry)]
                + [Self.outbox(settings, pool: pool, registry: registry, logger: logger, watchdog: watchdog), service]
                + [StoppingNotice(notifier: notifier)],
            shutdownTimeout: settings.shutdownTimeout,
            logger: logger
        )
        logger.notice("worker has ended")
    }

    /// Verifies and merges events; counts in the registry what it does.
    static func queue(
        _ settings: WorkerSettings,
        pool: ConnectionPool,
        registry: MetricRegistry,
        logger: Logger
    ) throws -> InboxQueue<EventProcessor.Prepared> {
        let verifier = try settings.verifier()
        registry.observe(verifier)
        let processor = EventProcessor(
            verifier: verifier,
            receipts: try settings.receiptVerifier(),
            legacy: settings.legacy,
            metrics: VerificationMetrics(factory: registry)
        )
        var configuration = InboxQueue<EventProcessor.Prepared>.Configuration()
        configuration.batchEvents = settings.batchSize
        configuration.retry = RetryPolicy(maximumAttempts: settings.maximumAttempts)
        let queue = InboxQueue(
            pool: pool,
            configuration: configuration,
            logger: logger,
            metrics: QueueMetrics(types: notificationTypes, factory: registry),
            prepare: processor.prepare,
            subjects: processor.subjects,
            merge: processor.merge
        )
        registry.observe(queue.side, as: "markers")
        return queue
    }

    /// The types that metrics tell apart, of both versions of notifications.
    private static var notificationTypes: Set<String> {
        Set(NotificationMatrix.subtypes.keys.map(\.rawValue)).union(NotificationTypeV1.documented.map(\.rawValue))
    }
}
