package import Logging
package import NIOCore
import NIOHTTP1
import ServiceLifecycle
package import ServiceSupport

/// The admin listener of a process without another HTTP server: `/livez`, `/readyz` and `/metrics`.
package struct AdminServer: Service {
    private let listener: HTTPListener

    /// Creates a server that listens while `run()` runs.
    ///
    /// - Parameters:
    ///   - checkReadiness: throws when the process cannot work.
    ///   - onBound: called with the port, nil for a Unix socket, when the address is bound.
    package init(
        listen: ListenAddress,
        registry: MetricRegistry,
        eventLoopGroup: any EventLoopGroup,
        logger: Logger,
        checkReadiness: @escaping @Sendable () async throws(Problem) -> Void,
        onBound: @escaping @Sendable (Int?) async -> Void
    ) {
        let metrics = ListenerMetrics(listener: "admin", factory: registry)
        var routes = Routes()
        HealthEndpoints(checkReadiness: checkReadiness).add(to: &routes)
        MetricsEndpoint(registry: registry).add(to: &routes)
        listener = HTTPListener(
            address: listen,
            limits: .admin,
            routes: routes,
            admission: .admin,
            metrics: metrics,
            eventLoopGroup: eventLoopGroup,
            logger: logger,
            onBound: onBound
        )
    }

    /// Binds the address before `run()`.
    package func bind() async throws(ServerError) {
        try await listener.bind()
    }

    /// Serves until graceful shutdown.
    ///
    /// - Throws: `ServerError` when the address cannot be bound.
    package func run() async throws {
        try await listener.run()
    }
}

extension ListenerLimits {
    /// The limits of an admin listener, whose requests have no bodies.
    package static var admin: ListenerLimits {
        var limits = ListenerLimits()
        limits.maximumBodyBytes = 1024
        limits.maximumConnections = 64
        return limits
    }
}

extension Admission {
    /// The admission of an admin listener: health checks are read even when the process refuses other requests.
    package static var admin: Admission { Admission(memoryLimit: ListenerLimits.admin.maximumBodyBytes, hourlyLimit: .max) }
}

/// The endpoints for liveness and readiness.
package struct HealthEndpoints: Sendable {
    private let checkReadiness: @Sendable () async throws(Problem) -> Void

    /// - Parameter checkReadiness: throws when the process cannot work.
    package init(checkReadiness: @escaping @Sendable () async throws(Problem) -> Void) {
        self.checkReadiness = checkReadiness
    }

    /// Adds `/livez` and `/readyz`.
    package func add(to routes: inout Routes) {
        routes.on(.GET, "/livez", livez)
        routes.on(.GET, "/readyz", readyz)
    }

    /// Answers 200 without any check: an answer proves that the process is alive.
    @Sendable private func livez(_ request: Request) async throws(Problem) -> Response {
        Response(text: "alive\n")
    }

    /// Answers 200 when the process can work.
    @Sendable private func readyz(_ request: Request) async throws(Problem) -> Response {
        try await checkReadiness()
        return Response(text: "ready\n")
    }
}

/// Serves the metrics of the process to Prometheus.
package struct MetricsEndpoint: Sendable {
    private let registry: MetricRegistry

    package init(registry: MetricRegistry) {
        self.registry = registry
    }

    /// Adds `/metrics`.
    package func add(to routes: inout Routes) {
        routes.on(.GET, "/metrics") { [registry] _ in Response(text: registry.render(), mediaType: Exposition.mediaType) }
    }
}

/// Calls `beat` at an interval while every event loop and the cooperative pool respond and `isStuck` is false.
package struct Heartbeat: Service {
    private let interval: Duration
    private let eventLoopGroup: any EventLoopGroup
    private let isStuck: @Sendable () -> Bool
    private let beat: @Sendable () -> Void

    package init(
        every interval: Duration,
        eventLoopGroup: any EventLoopGroup,
        isStuck: @escaping @Sendable () -> Bool,
        beat: @escaping @Sendable () -> Void
    ) {
        self.interval = interval
        self.eventLoopGroup = eventLoopGroup
        self.isStuck = isStuck
        self.beat = beat
    }

    package func run() async throws {
        try await cancelWhenGracefulShutdown {
            do {
                while true {
                    for eventLoop in eventLoopGroup.makeIterator() { try await eventLoop.submit {}.get() }
                    if !isStuck() { beat() }
                    try await Task.sleep(for: interval)
                }
            } catch is CancellationError {
                // Graceful shutdown ends the wait.
            }
        }
    }
}

extension Logger {
    /// The logger for a service group, which at the level of debug writes each service with all its members.
    package var forServiceGroup: Logger {
        var logger = self
        logger.logLevel = max(logLevel, .info)
        return logger
    }
}
