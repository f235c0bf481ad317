package import AppStoreVerification
package import HTTPServing
import HTTPTypes
package import Inbox
package import Logging
package import NIOCore
import NIOPosix
package import Prometheus
import ServiceLifecycle

/// The HTTP side of ingest: takes Apple's notifications on one listener and tells its health on both, its metrics on the second.
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
    private let intake: Intake
    private let notifications: NotificationEndpoint
    private let legacyNotifications: LegacyNotificationEndpoint
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger
    private let heartbeat: @Sendable () -> Void
    private let onReady: @Sendable (Ports) async -> Void
    private let admission: Admission
    private let registry: MetricRegistry
    private let refusal: @Sendable () -> Problem?

    /// Creates a server that listens while `run()` runs.
    ///
    /// - Parameters:
    ///   - intake: where bodies are stored; it must still run when this service shuts down.
    ///   - secrets: what vouches for notifications V1; without one of their app they are not taken.
    ///   - registry: where it counts, and what it shows under `/metrics`.
    ///   - refusal: why the database cannot be worked with although it answers.
    ///   - heartbeat: called while the event loops answer and the intake is not stuck.
    ///   - onReady: called once, when both listeners are bound.
    /// - Throws: `ServerError` when the configuration makes no sense.
    package init(
        configuration: Configuration,
        intake: Intake,
        secrets: SharedSecrets = SharedSecrets(),
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        logger: Logger,
        registry: MetricRegistry = MetricRegistry([]),
        refusal: @escaping @Sendable () -> Problem? = { nil },
        heartbeat: @escaping @Sendable () -> Void = {},
        onReady: @escaping @Sendable (Ports) async -> Void = { _ in }
    ) throws(ServerError) {
        try configuration.validate()
        self.configuration = configuration
        // Where no notification V1 is taken, no room is needed for one.
        notificationLimits = secrets.isEmpty ? configuration.limits : configuration.notificationLimits
        self.intake = intake
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
        self.heartbeat = heartbeat
        self.onReady = onReady
        self.registry = registry
        self.refusal = refusal
        let admission = Admission(notificationLimits, hourlyLimit: configuration.maximumBytesPerHour)
        let metrics = IngestMetrics(factory: registry)
        let store: (String) -> NotificationStore = { NotificationStore(intake: intake, admission: admission, metrics: metrics.route($0)) }
        self.admission = admission
        notifications = NotificationEndpoint(store: store(NotificationEndpoint.path))
        legacyNotifications = LegacyNotificationEndpoint(
            secrets: secrets,
            store: store(LegacyNotificationEndpoint.path),
            maximumBytes: configuration.legacyBodyBytes,
            maximumSignedBytes: configuration.limits.maximumBodyBytes
        )
        registry.observe("appstore_inbox_ingest_reserved_bytes") { Double(admission.bytesInMemory) }
        registry.observe("appstore_inbox_ingest_waiting_events") { Double(intake.backlog.events) }
        registry.observe("appstore_inbox_ingest_waiting_bytes") { Double(intake.backlog.bytes) }
        registry.observe("appstore_inbox_ingest_batches_in_flight") { Double(intake.backlog.batchesInFlight) }
    }

    /// Serves until graceful shutdown, and ends when the last request is answered or the grace is over.
    ///
    /// - Throws: `ServerError` when an address cannot be bound.
    package func run() async throws {
        let ready = Readiness<Listener>([.notifications, .admin]) { [onReady] ports in
            await onReady(Ports(notifications: ports[.notifications] ?? nil, admin: ports[.admin] ?? nil))
        }
        var adminLimits = configuration.limits
        adminLimits.maximumConnections = 64
        // Questions about health must be read even when notifications are not.
        let adminAdmission = Admission(memoryLimit: adminLimits.maximumBodyBytes, hourlyLimit: .max)
        // Services shut down from the last to the first: health can be asked for until the last notification is answered.
        var group = ServiceGroupConfiguration(
            services: [
                Heartbeat(
                    every: configuration.heartbeatInterval,
                    eventLoopGroup: eventLoopGroup,
                    isStuck: { [intake] in intake.isStuck },
                    beat: heartbeat
                ),
                listener(.admin, at: configuration.adminListen, limits: adminLimits, admission: adminAdmission) {
                    await ready.bound(.admin, to: $0)
                },
                listener(.notifications, at: configuration.listen, limits: notificationLimits, admission: admission) {
                    await ready.bound(.notifications, to: $0)
                },
            ],
            logger: logger
        )
        group.maximumGracefulShutdownDuration = configuration.limits.shutdownGrace + .seconds(2)
        let services = ServiceGroup(configuration: group)
        try await withGracefulShutdownHandler {
            try await services.run()
        } onGracefulShutdown: {
            admission.close()
        }
    }

    private func addRoutes(of listener: Listener, to routes: inout Routes) {
        HealthEndpoints(checkReadiness: checkReadiness).add(to: &routes)
        switch listener {
        case .admin:
            MetricsEndpoint(registry: registry).add(to: &routes)
        case .notifications:
            routes.onPost(NotificationEndpoint.path, DirectEndpoint(notifications.callAsFunction))
            routes.onPost(LegacyNotificationEndpoint.path, DirectEndpoint(legacyNotifications.callAsFunction))
        }
    }

    /// The process is ready when the database takes bodies and it takes requests.
    @Sendable private func checkReadiness() async throws(Problem) {
        if admission.isClosed { throw .shuttingDown }
        do {
            try await intake.checkReadiness()
        } catch let error as IntakeError {
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
        let metrics = ListenerMetrics(listener: listener.rawValue, factory: registry)
        var routes = Routes(metrics: metrics)
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
