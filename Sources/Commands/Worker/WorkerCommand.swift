import AppStoreVerification
import ArgumentParser
import FoundationEssentials
import Inbox
import Logging
import Postgres
import ServiceLifecycle
import Systemd
import Worker

/// `appstore-inbox worker`: takes events off the inbox and keeps the books.
struct WorkerCommand: AsyncParsableCommand {
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

        let pool = ConnectionPool(
            options: try ConnectionOptions(settings.database, command: "worker"),
            configuration: ConnectionPool.Configuration(maxConnections: settings.concurrency + 1),  // one for maintenance
            logger: logger
        )
        let watchdog = Watchdog(notifier: notifier)
        let loops = (0..<settings.concurrency).map { _ in watchdog.loop() }
        let service = WorkerService(
            queue: try queue(settings, pool: pool, logger: logger),
            configuration: WorkerService.Configuration(concurrency: settings.concurrency),
            logger: logger,
            heartbeat: WorkerService.Heartbeat(beat: { loops[$0].beat() }, finish: { loops[$0].finish() })
        )
        notifier.ready(status: "keeping the books of \(settings.apps.map(\.bundleID).joined(separator: ", "))")
        logger.notice("worker is running", metadata: ["worker.concurrency": "\(settings.concurrency)"])
        try await ServiceGroup.running(
            [pool, MaintenanceService(pool: pool, logger: logger), service, StoppingNotice(notifier: notifier)],
            shutdownTimeout: settings.shutdownTimeout,
            logger: logger
        )
        logger.notice("worker has ended")
    }

    private func queue(
        _ settings: WorkerSettings,
        pool: ConnectionPool,
        logger: Logger
    ) throws -> InboxQueue<EventProcessor.Prepared> {
        let processor = EventProcessor(verifier: try settings.verifier())
        var configuration = InboxQueue<EventProcessor.Prepared>.Configuration()
        configuration.batchEvents = settings.batchSize
        configuration.retry = RetryPolicy(maximumAttempts: settings.maximumAttempts)
        return InboxQueue(
            pool: pool,
            configuration: configuration,
            logger: logger,
            prepare: processor.prepare,
            merge: processor.merge
        )
    }
}
