import ArgumentParser
import FoundationEssentials
import Inbox
import Ingest
import Logging
import Postgres
import ServiceLifecycle
import Systemd

/// `appstore-inbox ingest`: the receiver.
struct IngestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest",
        abstract: "Receives Apple's notifications and answers 200 once they are committed to the inbox.",
        discussion: "Ends with 0 after SIGTERM, when what was under way is answered."
    )

    @OptionGroup var ingest: IngestOptions
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    func run() async throws {
        let reader = try service.reader(ingest, database)
        if service.checkConfig { return print(try reader.report(.ingest)) }
        let settings = try IngestSettings(reader)
        let logger = try Logger.service("ingest", reader)
        let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment, logger: logger)

        let intakeConfiguration = Intake.Configuration()
        let pool = ConnectionPool(
            options: try ConnectionOptions(settings.database, command: "ingest"),
            configuration: ConnectionPool.Configuration(maxConnections: intakeConfiguration.maximumBatchesInFlight + 1),
            logger: logger
        )
        let intake = Intake(pool: pool, configuration: intakeConfiguration, logger: logger)
        let heartbeat = Watchdog(notifier: notifier).loop()
        let server = try IngestServer(
            configuration: IngestServer.Configuration(settings),
            intake: intake,
            logger: logger,
            heartbeat: heartbeat.beat
        ) { ports in
            logger.notice(
                "ingest is listening",
                metadata: [
                    "listen": "\(settings.listen)", "listen.port": "\(ports.notifications ?? 0)", "listen.admin": "\(settings.adminListen)",
                    "listen.admin.port": "\(ports.admin ?? 0)",
                ]
            )
            notifier.ready(status: "listening on \(settings.listen)")
        }
        // In the order of dependency: the last is the first to shut down.
        try await ServiceGroup.running(
            [pool, intake, server, StoppingNotice(notifier: notifier)],
            shutdownTimeout: settings.shutdownTimeout,
            logger: logger
        )
        logger.notice("ingest has ended")
    }
}

extension IngestServer.Configuration {
    init(_ settings: IngestSettings) {
        self.init()
        listen = settings.listen
        adminListen = settings.adminListen
        maximumBodyBytes = settings.bodyLimit
        maximumBytesInMemory = settings.memoryLimit
        maximumBytesPerHour = settings.hourlyByteLimit ?? .max
        maximumConnections = settings.connectionLimit
        requestDeadline = settings.requestTimeout
    }
}
