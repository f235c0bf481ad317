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

    private let configuration: Configuration
    private let intake: Intake
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger
    private let heartbeat: @Sendable () -> Void
    private let onReady: @Sendable (Ports) async -> Void
    private let admission: Admission
    private let metrics = IngestMetrics()

    /// Creates a server that listens while `run()` runs.
    ///
    /// - Parameters:
    ///   - intake: where bodies are stored; it must still run when this service shuts down.
    ///   - heartbeat: called while the event loops answer and the intake is not stuck.
    ///   - onReady: called once, when both listeners are bound.
    /// - Throws: `IngestError` when the configuration makes no sense.
    package init(
        configuration: Configuration,
        intake: Intake,
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        logger: Logger,
        heartbeat: @escaping @Sendable () -> Void = {},
        onReady: @escaping @Sendable (Ports) async -> Void = { _ in }
    ) throws(IngestError) {
        try configuration.validate()
        self.configuration = configuration
        self.intake = intake
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
        self.heartbeat = heartbeat
        self.onReady = onReady
        admission = Admission(memoryLimit: configuration.maximumBytesInMemory, hourlyLimit: configuration.maximumBytesPerHour)
    }

    /// Serves until graceful shutdown, and ends when the last request is answered or the grace is over.
    ///
    /// - Throws: `IngestError` when an address cannot be bound.
    package func run() async throws {
        let ready = Readiness(onReady)
        // Services shut down from the last to the first: health can be asked for until the last notification is answered.
        var group = ServiceGroupConfiguration(
            services: [
                Heartbeat(every: configuration.heartbeatInterval, eventLoopGroup: eventLoopGroup, intake: intake, beat: heartbeat),
                listener(at: configuration.adminListen, maximumConnections: 64, takesNotifications: false) { await ready.admin($0) },
                listener(at: configuration.listen, maximumConnections: configuration.maximumConnections, takesNotifications: true) {
                    await ready.notifications($0)
                },
            ],
            logger: logger
        )
        group.maximumGracefulShutdownDuration = configuration.shutdownGrace + .seconds(2)
        let services = ServiceGroup(configuration: group)
        try await withGracefulShutdownHandler {
            try await services.run()
        } onGracefulShutdown: {
            admission.close()
        }
    }

    private func listener(
        at address: ListenAddress,
        maximumConnections: Int,
        takesNotifications: Bool,
        onBound: @escaping @Sendable (Int?) async -> Void
    ) -> HTTPListener {
        // Questions about health must be read even when notifications are not.
        let healthAdmission = Admission(memoryLimit: configuration.maximumBodyBytes, hourlyLimit: .max)
        var routes = Routes(metrics: metrics)
        HealthEndpoints(intake: intake, admission: admission).add(to: &routes)
        if takesNotifications {
            let endpoint = NotificationEndpoint(
                source: "notification_v2",
                intake: intake,
                admission: admission,
                metrics: metrics,
                maximumBytes: configuration.maximumBodyBytes
            )
            routes.on(.post, "/apple/v2/notifications", endpoint.callAsFunction)
        }
        return HTTPListener(
            address: address,
            limits: configuration.connectionLimits,
            maximumConnections: maximumConnections,
            routes: routes,
            admission: takesNotifications ? admission : healthAdmission,
            metrics: metrics,
            eventLoopGroup: eventLoopGroup,
            logger: logger,
            onBound: onBound
        )
    }
}
