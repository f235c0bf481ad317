import AppStoreVerification
import ArgumentParser
import Feed
import FoundationEssentials
import HTTPServing
import InboxQueue
import Interpretation
import Logging
import Postgres
import Revocation
import Schema
import ServerAPI
import ServiceLifecycle
import ServiceSupport

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
        let connections = WorkerServices.connections(forBatches: settings.concurrency)
        let pool = ConnectionPool(
            options: options,
            configuration: ConnectionPool.Configuration(maxConnections: connections).checked(by: gate),
            logger: logger
        )
        registry.observe(pool, as: "worker")
        let (services, admin) = WorkerServices(settings, parts, pool: pool, registry: registry, logger: logger).all(gate, notifier) {
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
}

/// The parts of a worker that a reload of the settings replaces.
struct ReloadableWorker: Sendable {
    /// The settings that take effect without a restart.
    static let settings: Set = [
        Settings.apps.name, Settings.environments.name, Settings.extraRoots.name, Settings.sharedSecrets.name, Settings.verifyReceipt.name,
        Settings.webhookSecret.name, Settings.webhookHeadersDirectory.name, Settings.apiKeysDirectory.name, Settings.apiIssuers.name,
    ]

    /// Processes events of the configured apps.
    let processor: Reloadable<EventProcessor>
    /// The secrets that are sent to verifyReceipt.
    let secrets: Reloadable<SharedSecrets>
    /// The keys that sign requests to the App Store Server API.
    let apiKeys: Reloadable<APIKeys>
    /// What webhooks are signed with; nil delivers none.
    let webhookMasters: Reloadable<WebhookMasters?>
    let webhookHeaders: Reloadable<WebhookHeaders>
    /// Which OCSP responders may be asked.
    let responderHosts: Reloadable<ResponderHosts>
    private let metrics: VerificationMetrics

    /// Exposes the metrics of verification in the registry.
    init(_ settings: WorkerSettings, registry: MetricRegistry) {
        metrics = VerificationMetrics(factory: registry)
        processor = Reloadable(EventProcessor(settings.verification.eventReader, metrics: metrics))
        secrets = Reloadable(settings.verification.outboundSecrets)
        apiKeys = Reloadable(settings.serverAPI.keys)
        webhookMasters = Reloadable(settings.webhooks.masters)
        webhookHeaders = Reloadable(settings.webhooks.headers)
        responderHosts = Reloadable(settings.verification.responderHosts)
        registry.observe { [processor] in processor.current.reader.verifier }
    }

    /// Replaces the parts. A batch in flight ends with the old ones.
    func apply(_ settings: WorkerSettings) {
        processor.update { old in
            EventProcessor(settings.verification.eventReader.refusing(old.reader.verifier.policy.revocations), metrics: metrics)
        }
        secrets.replace(with: settings.verification.outboundSecrets)
        apiKeys.replace(with: settings.serverAPI.keys)
        webhookMasters.replace(with: settings.webhooks.masters)
        webhookHeaders.replace(with: settings.webhooks.headers)
        responderHosts.replace(with: settings.verification.responderHosts)
    }

    /// Rejects from now on what revoked certificates signed. A batch in flight ends as it began.
    func apply(_ revocations: Revocations) {
        processor.update { old in
            guard old.reader.verifier.policy.revocations != revocations else { return old }
            return EventProcessor(old.reader.refusing(revocations), metrics: metrics)
        }
    }
}
