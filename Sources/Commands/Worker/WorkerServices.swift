import AppStore
import AppStoreVerification
import Backfill
import Feed
import HTTPServing
import InboxQueue
import Interpretation
import Logging
import NIOPosix
import Outbox
import Postgres
import Revocation
import Schema
import ServerAPI
import ServiceLifecycle
import ServiceSupport

/// The services of a worker, and what they share.
struct WorkerServices {
    private let settings: WorkerSettings
    private let parts: ReloadableWorker
    /// For batches, and one for isolated events: these find a connection whatever the rest does, which has a share.
    private let pool: ConnectionPool
    /// The share of everything else. Each holds a connection only while a statement or a short transaction runs.
    private let sharedPool: ConnectionPool
    private let registry: MetricRegistry
    private let logger: Logger
    /// Asks the App Store Server API, about the apps that have a key.
    private let client: ServerAPIClient
    /// Supervises the loops. Its limit is longer than the longest step: a batch that runs again event by event. Waiting for the database is
    /// progress.
    private let monitor = LoopMonitor(limit: .seconds(180))

    init(
        _ settings: WorkerSettings,
        _ parts: ReloadableWorker,
        pool: ConnectionPool,
        registry: MetricRegistry,
        logger: Logger
    ) {
        self.settings = settings
        self.parts = parts
        self.pool = pool
        sharedPool = pool.share(of: Self.sharedConnections)
        self.registry = registry
        self.logger = logger
        client = ServerAPIClient(
            hosts: settings.serverAPI.hosts,
            keys: { parts.apiKeys.current },
            budget: SharedBudget(pool: sharedPool, share: settings.serverAPI.share, logger: logger),
            logger: logger,
            metrics: registry,
            now: { LogOutput.standardError.now() }
        )
    }

    /// For maintenance, statistics, the feed, the outbox, the history, imports, the reconciliation, OCSP and webhooks together.
    private static let sharedConnections = 6

    /// The size of ``pool``. Crash markers have a connection in addition.
    static func connections(forBatches batches: Int) -> Int { batches + 1 + sharedConnections }

    /// All services, and those of them that listen, which are bound before any runs.
    ///
    /// - Parameter announce: called when the worker is ready.
    func all(
        _ gate: SchemaGate,
        _ notifier: ServiceNotifier,
        announce: @escaping @Sendable () -> Void
    ) -> (all: [any Service], admin: [AdminServer]) {
        // Dead rows that vacuum cannot remove make these slow.
        let statisticsPool = sharedPool.share(of: 2)
        let inbox = StatisticsCollector<InboxStatistics>(pool: statisticsPool, logger: logger)
        let admin = admin(inbox, gate, announce: announce)
        let listeners: [any Service] = admin.isEmpty ? [ReadyNotice(announce: announce)] : admin
        func collector<Numbers: ExposedStatistics>(
            _: Numbers.Type,
            every interval: Duration = .seconds(15)
        ) -> StatisticsCollector<Numbers> {
            let collector = StatisticsCollector<Numbers>(pool: statisticsPool, interval: interval, logger: logger)
            collector.expose(in: registry)
            return collector
        }
        // The budget's and the history's always, since a reload may add the first key.
        var collectors: [any Service] = [
            inbox, collector(OutboxStatistics.self), collector(EndpointStatistics.self), collector(BudgetStatistics.self),
            collector(HistoryStatistics.self), collector(ReconcileStatistics.self), collector(ImportStatistics.self),
            collector(ConsumptionStatistics.self),
            // It asks the file system about each file of the database.
            collector(StorageStatistics.self, every: .seconds(60)),
            collector(UnknownValueStatistics.self, every: .seconds(300)),
            collector(ExternalPurchaseTokenStatistics.self, every: .seconds(300)),
        ]
        // The numbers of a worker that does not ask would only grow old.
        if settings.asksResponders { collectors.append(collector(RevocationStatistics.self)) }
        let upkeep: [any Service] = [
            MaintenanceService(pool: sharedPool, logger: logger, metrics: registry), RepairService(pool: sharedPool, logger: logger),
        ]
        return ([pool] + listeners + collectors + upkeep + loops(notifier), admin)
    }

    /// The services that process events and make calls, the pool of crash markers, and the heartbeat that reports their progress to systemd.
    private func loops(_ notifier: ServiceNotifier) -> [any Service] {
        let revocation = revocation()
        let queue = queue()
        return [
            Heartbeat(
                every: notifier.keepAlivePause,
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
                isStuck: { [monitor] in monitor.isStuck },
                beat: notifier.keepAlive
            ),
            FeedService(pool: sharedPool, logger: logger, heartbeat: monitor.loop), outbox(), history(), imports(), reconcile(), webhooks(),
            revocation, queue.side,
            WorkerService(
                queue: queue,
                configuration: WorkerService.Configuration(concurrency: settings.concurrency),
                prepare: { await revocation.prepare() },
                logger: logger,
                heartbeat: monitor.loop
            ),
        ]
    }

    /// The queue, which verifies and merges events; counts its work in the registry.
    private func queue() -> EventQueue<EventProcessor.Prepared> {
        var configuration = EventQueue<EventProcessor.Prepared>.Configuration()
        configuration.batchEvents = settings.batchSize
        configuration.maximumAttempts = settings.maximumAttempts
        let processor = parts.processor
        let queue = EventQueue(
            pool: pool,
            configuration: configuration,
            logger: logger,
            metrics: QueueMetrics(types: Self.notificationTypes, factory: registry),
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

    /// The service of the worker's admin listener; none when it is off.
    ///
    /// - Parameter announce: called when the address is bound.
    private func admin(
        _ collector: StatisticsCollector<InboxStatistics>,
        _ gate: SchemaGate,
        announce: @escaping @Sendable () -> Void
    ) -> [AdminServer] {
        MetricCatalogue.expose(collector, in: registry)
        guard let listen = settings.adminListen else { return [] }
        let server = AdminServer(
            listen: listen,
            registry: registry,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger
        ) { () throws(Problem) in
            if let refusal = gate.refusal { throw .databaseRefused("\(refusal)") }
            guard gate.isUsable, collector.latest != nil else { throw .databaseUnavailable(retryAfter: 5) }
        } onBound: { [logger] port in
            logger.notice("worker is listening", metadata: ["listen.admin": "\(listen.with(port: port))"])
            announce()
        }
        return [server]
    }

    /// The service that makes the calls which the ledger requests; counts their results in the registry. Without a key, it leases none that
    /// asks the App Store Server API.
    private func outbox() -> OutboxService {
        var configuration = OutboxService.Configuration()
        configuration.exchange.extraRootPaths = settings.outboundRoots
        var addresses = VerifyReceiptAddresses()
        addresses.production = settings.verifyReceiptURL
        addresses.sandbox = settings.verifyReceiptSandboxURL
        let receipts = VerifyReceiptCallHandler(
            addresses: addresses,
            secrets: { [parts] in parts.secrets.current },
            receiptData: { PostedReceipt.data(inEventBody: $0.body) }
        )
        let questions: [any CallHandler] =
            [ServerAPICallHandler.consumption(client, metrics: registry)] + ServerAPICallHandler.inquiries(client)
        return OutboxService(
            pool: sharedPool,
            handlers: [receipts] + questions,
            configuration: configuration,
            logger: logger,
            metrics: registry,
            heartbeat: monitor.loop
        )
    }

    /// The service that reads Apple's notification history of the apps that have a key.
    private func history() -> HistoryService {
        var configuration = HistoryService.Configuration()
        configuration.exchange.extraRootPaths = settings.outboundRoots
        return HistoryService(
            pool: sharedPool,
            client: client,
            configuration: configuration,
            logger: logger,
            metrics: registry,
            heartbeat: monitor.loop
        )
    }

    /// The service that asks Apple about the customers of imports, of the apps that have a key.
    private func imports() -> ImportService {
        var configuration = ImportService.Configuration()
        configuration.exchange.extraRootPaths = settings.outboundRoots
        configuration.slots = settings.serverAPI.importRequests
        return ImportService(pool: sharedPool, client: client, configuration: configuration, logger: logger, heartbeat: monitor.loop)
    }

    /// The service that asks about contracts that look stale, of the apps that have a key.
    private func reconcile() -> ReconcileService {
        var configuration = ReconcileService.Configuration()
        configuration.environments = settings.reconcile.mode.environments
        configuration.sample = settings.reconcile.sample
        return ReconcileService(
            pool: sharedPool,
            configuration: configuration,
            // A question whose call cannot be made would only grow old.
            lanes: { [client] in client.openLanes },
            logger: logger,
            heartbeat: monitor.loop
        )
    }

    /// The service that asks whether the certificates that sign are revoked, and makes the parts reject what revoked certificates signed.
    private func revocation() -> RevocationService {
        RevocationService(
            pool: sharedPool,
            asks: settings.asksResponders,
            hosts: { [parts] in parts.responderHosts.current },
            used: { [parts] in parts.processor.current.reader.verifier.takeUsedCertificates() },
            apply: { [parts] in parts.apply($0) },
            logger: logger,
            heartbeat: monitor.loop
        )
    }

    /// The service that delivers the feed to endpoints; counts its attempts in the registry.
    private func webhooks() -> WebhookService {
        var configuration = WebhookService.Configuration()
        configuration.networks = settings.webhooks.networks
        configuration.proxy = settings.webhooks.proxy
        configuration.extraRootPaths = settings.outboundRoots
        configuration.userAgent = "appstore-inbox/\(Build.version)"
        configuration.ownPorts = settings.webhooks.ownPorts
        return WebhookService(
            // Many endpoints take no connection from the rest.
            pool: sharedPool.share(of: 2),
            configuration: configuration,
            masters: { [parts] in parts.webhookMasters.current },
            headers: { [parts] in parts.webhookHeaders.current[$0] ?? [] },
            logger: logger,
            metrics: registry,
            heartbeat: monitor.loop
        )
    }
}
