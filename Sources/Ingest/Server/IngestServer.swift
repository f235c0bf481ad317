package import AppStoreVerification
package import HTTPServing
package import Logging
package import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle
package import ServiceSupport

/// The HTTP server of ingest: accepts Apple's notifications on one listener, serves health on both and metrics on the second.
package struct IngestServer: Service {
    /// The ports that were bound; nil for a Unix socket.
    package struct Ports: Hashable, Sendable {
        package var notifications: Int?
        package var admin: Int?
    }

    private enum Listener: String {
        case notifications, admin
    }

    private let configuration: Configuration
    private let notificationLimits: ListenerLimits
    private let committer: GroupCommitter
    private let notifications: NotificationEndpoint
    private let legacyNotifications: LegacyNotificationEndpoint
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger
    private let heartbeat: @Sendable () -> Void
    private let onReady: @Sendable (Ports) async -> Void
    private let admission: Admission
    private let registry: MetricRegistry
    private let refusalLog: RefusalLog?
    private let refusal: @Sendable () -> Problem?

    /// Creates a server that listens while `run()` runs.
    ///
    /// - Parameters:
    ///   - committer: stores the bodies; it must still run when this service shuts down.
    ///   - secrets: the shared secrets that authenticate notifications V1, asked for at each; those of an app without one are refused. Whether
    ///     there are any must not change.
    ///   - registry: the metrics served under `/metrics`.
    ///   - refusalLog: where refused requests are summarised.
    ///   - refusal: why the database cannot be used although it answers, such as another schema version.
    ///   - heartbeat: called while the event loops answer and the committer is not stuck.
    ///   - onReady: called once, when both listeners are bound.
    /// - Throws: `ServerError` when the configuration is invalid.
    package init(
        configuration: Configuration,
        committer: GroupCommitter,
        secrets: @escaping @Sendable () -> SharedSecrets = { SharedSecrets() },
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        logger: Logger,
        registry: MetricRegistry = MetricRegistry([]),
        refusalLog: RefusalLog? = nil,
        refusal: @escaping @Sendable () -> Problem? = { nil },
        heartbeat: @escaping @Sendable () -> Void = {},
        onReady: @escaping @Sendable (Ports) async -> Void = { _ in }
    ) throws(ServerError) {
        try configuration.validate()
        self.configuration = configuration
        // Without a secret every notification V1 is refused: its larger body limit does not apply.
        notificationLimits = secrets().isEmpty ? configuration.limits : configuration.notificationLimits
        self.committer = committer
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
        self.heartbeat = heartbeat
        self.onReady = onReady
        self.registry = registry
        self.refusalLog = refusalLog
        self.refusal = refusal
        let admission = Admission(notificationLimits, hourlyLimit: configuration.maximumBytesPerHour)
        let metrics = IngestMetrics(factory: registry)
        let store: (String) -> NotificationStore = { path in
            NotificationStore(committer: committer, admission: admission, metrics: metrics.route(path))
        }
        self.admission = admission
        notifications = NotificationEndpoint(store: store(NotificationEndpoint.path))
        legacyNotifications = LegacyNotificationEndpoint(
            secrets: secrets,
            store: store(LegacyNotificationEndpoint.path),
            maximumBytes: configuration.legacyBodyBytes,
            maximumSignedBytes: configuration.limits.maximumBodyBytes
        )
        registry.observe("appstore_inbox_ingest_reserved_bytes") { Double(admission.bytesInMemory) }
        registry.observe("appstore_inbox_ingest_waiting_events") { Double(committer.backlog.events) }
        registry.observe("appstore_inbox_ingest_waiting_bytes") { Double(committer.backlog.bytes) }
        registry.observe("appstore_inbox_ingest_batches_in_flight") { Double(committer.backlog.batchesInFlight) }
    }

    /// Serves until graceful shutdown, then until the last request is answered or the grace period ends.
    ///
    /// - Throws: `ServerError` when an address cannot be bound.
    package func run() async throws {
        let ready = Readiness<Listener>([.notifications, .admin]) { [onReady] ports in
            await onReady(Ports(notifications: ports[.notifications] ?? nil, admin: ports[.admin] ?? nil))
        }
        var adminLimits = configuration.limits
        adminLimits.maximumConnections = 64
        // Health checks must be read even when notifications are refused.
        let adminAdmission = Admission(memoryLimit: adminLimits.maximumBodyBytes, hourlyLimit: .max)
        // Services shut down in reverse order: health is served until the last notification is answered.
        var group = ServiceGroupConfiguration(
            services: [
                Heartbeat(
                    every: configuration.heartbeatInterval,
                    eventLoopGroup: eventLoopGroup,
                    isStuck: { [committer] in committer.isStuck },
                    beat: heartbeat
                ),
                listener(.admin, at: configuration.adminListen, limits: adminLimits, admission: adminAdmission) {
                    await ready.bound(.admin, to: $0)
                },
                listener(.notifications, at: configuration.listen, limits: notificationLimits, admission: admission) {
                    await ready.bound(.notifications, to: $0)
                },
            ],
            logger: logger.forServiceGroup
        )
        group.maximumGracefulShutdownDuration = configuration.limits.shutdownGrace + .seconds(2)
        let services = ServiceGroup(configuration: group)
        try await withGracefulShutdownHandler {
            try await services.run()
        } onGracefulShutdown: {
            admission.beginShutdown()
        }
    }

    private func addRoutes(of listener: Listener, to routes: inout Routes) {
        HealthEndpoints(checkReadiness: checkReadiness).add(to: &routes)
        switch listener {
        case .admin:
            MetricsEndpoint(registry: registry).add(to: &routes)
        case .notifications:
            routes.on(.POST, NotificationEndpoint.path, .onEventLoop(notifications.callAsFunction))
            routes.on(.POST, LegacyNotificationEndpoint.path, .onEventLoop(legacyNotifications.callAsFunction))
        }
    }

    /// The process is ready when the database accepts bodies and the process accepts requests.
    @Sendable private func checkReadiness() async throws(Problem) {
        if admission.isShuttingDown { throw .shuttingDown }
        do {
            try await committer.checkReadiness()
        } catch let error as GroupCommitError {
            throw refusal() ?? Problem(error)
        } catch {
            throw .shuttingDown
        }
    }

    private func listener(
        _ listener: Listener,
        at address: ListenAddress,
        limits: ListenerLimits,
        admission: Admission,
        onBound: @escaping @Sendable (Int?) async -> Void
    ) -> HTTPListener {
        let metrics = ListenerMetrics(listener: listener.rawValue, factory: registry, log: refusalLog)
        var routes = Routes()
        addRoutes(of: listener, to: &routes)
        return HTTPListener(
            address: address,
            limits: limits,
            routes: routes,
            admission: admission,
            metrics: metrics,
            eventLoopGroup: eventLoopGroup,
            logger: logger,
            onBound: onBound
        )
    }
}

extension IngestServer {
    /// The addresses and limits of an ingest server.
    package struct Configuration: Sendable {
        /// The address for Apple's notifications.
        package var listen = ListenAddress.tcp(host: "127.0.0.1", port: 8080)
        /// The address for health and metrics, which answers even when the first listener is full.
        package var adminListen = ListenAddress.tcp(host: "127.0.0.1", port: 9090)
        /// The limits of the first listener. The second has the same, but at most 64 connections.
        package var limits = ListenerLimits()
        /// The most bytes in a notification V1: its receipt grows with each renewal.
        package var legacyBodyBytes = 4 * 1024 * 1024
        /// The most bytes stored within any hour. They are not verified yet.
        package var maximumBytesPerHour = 4 * 1024 * 1024 * 1024
        /// The interval between two heartbeats.
        package var heartbeatInterval: Duration = .seconds(5)

        package init() {}

        /// Checks the limits and their combination.
        ///
        /// - Throws: `ServerError` that names the first invalid limit.
        package func validate() throws(ServerError) {
            try limits.validate()
            try ListenerLimits.check("legacyBodyBytes", legacyBodyBytes, in: ListenerLimits.bodyBytes)
            try notificationLimits.validate()
            let largest = max(limits.maximumBodyBytes, legacyBodyBytes)
            try ListenerLimits.check("maximumBytesPerHour", maximumBytesPerHour, in: largest...Int.max)
            try ListenerLimits.check("heartbeatInterval", heartbeatInterval)
        }

        /// The limits of the first listener, by path. Notifications V2 may arrive under the path of V1.
        fileprivate var notificationLimits: ListenerLimits {
            var limits = limits
            limits.bodyBytesByPath[LegacyNotificationEndpoint.path] = max(limits.maximumBodyBytes, legacyBodyBytes)
            return limits
        }
    }
}
