package import Logging
package import NIOCore
package import Prometheus
import ServiceLifecycle

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
