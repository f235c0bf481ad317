import AppStoreVerification
import ArgumentParser
import FoundationEssentials
import GroupCommit
import HTTPServing
import Ingest
import Logging
import Postgres
import Prometheus
import Schema
import ServiceLifecycle
import Systemd

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
