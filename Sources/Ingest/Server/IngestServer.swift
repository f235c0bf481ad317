package import HTTPServing
import HTTPTypes
package import Inbox
package import Logging
package import NIOCore
import NIOPosix
import ServiceLifecycle

/// The HTTP side of ingest: takes Apple's notifications on one listener and tells its health on both.
package struct IngestServer: Service {
    /// The ports that were bound; nil for a Unix socket.
    package struct Ports: Hashable, Sendable {
        package var notifications: Int?
        package var admin: Int?
    }

    private enum Listener: Hashable {
        case notifications, admin
    }

    private let configuration: Configuration
    private let intake: Intake
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger
    private let heartbeat: @Sendable () -> Void
    private let onReady: @Sendable (Ports) async -> Void
    private let admission: Admission
    private let metrics = IngestMetrics()
    private let refusals = RefusalMetrics(label: "appstore_inbox_ingest_refused")

    /// Creates a server that listens while `run()` runs.
    ///
    /// - Parameters:
    ///   - intake: where bodies are stored; it must still run when this service shuts down.
    ///   - heartbeat: called while the event loops answer and the intake is not stuck.
    ///   - onReady: called once, when both listeners are bound.
    /// - Throws: `ServerError` when the configuration makes no sense.
    package init(
        configuration: Configuration,
        intake: Intake,
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        logger: Logger,
        heartbeat: @escaping @Sendable () -> Void = {},
        onReady: @escaping @Sendable (Ports) async -> Void = { _ in }
    ) throws(ServerError) {
        try configuration.validate()
        self.configuration = configuration
        self.intake = intake
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
        self.heartbeat = heartbeat
        self.onReady = onReady
        admission = Admission(memoryLimit: configuration.limits.maximumBytesInMemory, hourlyLimit: configuration.maximumBytesPerHour)
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
                listener(at: configuration.adminListen, limits: adminLimits, admission: adminAdmission, routes: healthRoutes) {
                    await ready.bound(.admin, to: $0)
                },
                listener(at: configuration.listen, limits: configuration.limits, admission: admission, routes: notificationRoutes) {
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

    private var healthRoutes: Routes {
        var routes = Routes(refusals: refusals)
        HealthEndpoints(intake: intake, admission: admission).add(to: &routes)
        return routes
    }

    private var notificationRoutes: Routes {
        var routes = healthRoutes
        let endpoint = NotificationEndpoint(
            source: "notification_v2",
            intake: intake,
            admission: admission,
            metrics: metrics,
            maximumBytes: configuration.limits.maximumBodyBytes
        )
        routes.on(.post, "/apple/v2/notifications", endpoint.callAsFunction)
        return routes
    }

    private func listener(
        at address: ListenAddress,
        limits: ListenerLimits,
        admission: Admission,
        routes: Routes,
        onBound: @escaping @Sendable (Int?) async -> Void
    ) -> HTTPListener {
        HTTPListener(
            address: address,
            limits: limits,
            routes: routes,
            admission: admission,
            refusals: refusals,
            eventLoopGroup: eventLoopGroup,
            logger: logger,
            onBound: onBound
        )
    }
}
