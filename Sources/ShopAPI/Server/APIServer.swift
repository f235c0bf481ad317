package import HTTPServing
package import Logging
package import Metrics
package import NIOCore
import NIOPosix
package import Postgres
import ServiceLifecycle

/// The HTTP interface for the shop's own backend: orders, what clients bought, and what users may use.
///
/// It tells its own health under `/livez` and `/readyz`. The receiver's `/readyz` says nothing of it: a fault of this interface's database
/// role must not take Apple's notifications away.
package struct APIServer: Service {
    /// Where the interface listens, and its limits.
    package struct Configuration: Sendable {
        /// Where the shop's own backend asks.
        package var listen: ListenAddress
        /// Of the clients; a body that is taken must still fit into the inbox with what is added to it.
        package var limits = ListenerLimits()
        /// The most bytes in a body with a receipt, which grows with the years.
        package var receiptBytes = 4 * 1024 * 1024 - 64 * 1024

        package init(listen: ListenAddress) {
            self.listen = listen
        }

        /// By path.
        fileprivate var pathLimits: ListenerLimits {
            var limits = limits
            limits.bodyBytesByPath[ReceiptsEndpoint.path] = receiptBytes
            return limits
        }
    }

    private let configuration: Configuration
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger
    private let onBound: @Sendable (Int?) async -> Void
    private let admission: Admission
    private let metrics: APIMetrics
    private let store: ShopStore

    /// Creates a server that listens while `run()` runs.
    ///
    /// - Parameters:
    ///   - pool: connections of role `appstore_api`; it must still run when this service shuts down.
    ///   - onBound: called with the port, nil for a Unix socket, when the address is bound.
    /// - Throws: `ServerError` when the configuration makes no sense.
    package init(
        configuration: Configuration,
        pool: ConnectionPool,
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        onBound: @escaping @Sendable (Int?) async -> Void = { _ in }
    ) throws(ServerError) {
        try configuration.limits.validate()
        try configuration.pathLimits.validate()
        self.configuration = configuration
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
        self.metrics = APIMetrics(factory: metrics)
        self.onBound = onBound
        admission = Admission(configuration.pathLimits)
        store = ShopStore(pool: pool, logger: logger)
    }

    /// Serves until graceful shutdown, and ends when the last request is answered or the grace is over. Who waits for an outcome is
    /// answered at once then.
    ///
    /// - Throws: `ServerError` when the address cannot be bound.
    package func run() async throws {
        let routes = ShopRoutes(
            store: store,
            admission: admission,
            maximumBytes: configuration.limits.maximumBodyBytes,
            maximumReceiptBytes: configuration.receiptBytes,
            metrics: metrics
        )
        let listener = HTTPListener(
            address: configuration.listen,
            limits: configuration.pathLimits,
            routes: routes.routes,
            admission: admission,
            metrics: metrics.listener,
            eventLoopGroup: eventLoopGroup,
            logger: logger,
            onBound: onBound
        )
        var group = ServiceGroupConfiguration(services: [listener], logger: logger)
        group.maximumGracefulShutdownDuration = configuration.limits.shutdownGrace + .seconds(2)
        let services = ServiceGroup(configuration: group)
        try await withGracefulShutdownHandler {
            try await services.run()
        } onGracefulShutdown: {
            admission.close()
        }
    }
}
