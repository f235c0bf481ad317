import Feed
package import HTTPServing
package import Logging
package import Metrics
package import NIOCore
import NIOPosix
package import Postgres
import ServiceLifecycle

/// The HTTP API for the shop's own backend: orders, purchases and entitlements.
///
/// It has its own `/livez` and `/readyz`. The `/readyz` of the ingest server does not depend on it: a failure of the API's database role must
/// not stop Apple's notifications.
package struct APIServer: Service {
    /// The address and limits of the API.
    package struct Configuration: Sendable {
        /// The address for the shop's own backend.
        package var listen: ListenAddress
        /// The limits of the clients. An accepted body plus the members added to it must fit into the inbox.
        package var limits = ListenerLimits()
        /// The most bytes in a body with a receipt, which grows with each renewal.
        package var receiptBytes = 4 * 1024 * 1024 - 64 * 1024

        package init(listen: ListenAddress) {
            self.listen = listen
        }

        /// The limits with those of each path.
        fileprivate var pathLimits: ListenerLimits {
            var limits = limits
            limits.bodyBytesByPath[ReceiptsEndpoint.path] = receiptBytes
            limits.longestWait = .seconds(30)
            return limits
        }
    }

    private let configuration: Configuration
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger
    private let onBound: @Sendable (Int?) async -> Void
    private let admission: Admission
    private let metrics: AnswerMetrics
    private let listenerMetrics: ListenerMetrics
    private let store: ShopStore
    private let feedStore: ShopStore
    private let standbyStore: ShopStore?

    /// Creates a server that listens while `run()` runs.
    ///
    /// - Parameters:
    ///   - pool: connections of role `appstore_api`; it must still run when this service shuts down.
    ///   - refusalLog: where refused requests are summarised.
    ///   - feedPool: connections for reading the feed, where these are not to delay other requests; nil for `pool`.
    ///   - standbyPool: connections to a standby, for reading entitlements and contracts; nil where the primary answers these.
    ///   - onBound: called with the port, nil for a Unix socket, when the address is bound.
    /// - Throws: `ServerError` when the configuration is invalid.
    package init(
        configuration: Configuration,
        pool: ConnectionPool,
        feedPool: ConnectionPool? = nil,
        standbyPool: ConnectionPool? = nil,
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        refusalLog: RefusalLog? = nil,
        onBound: @escaping @Sendable (Int?) async -> Void = { _ in }
    ) throws(ServerError) {
        try configuration.limits.validate()
        try configuration.pathLimits.validate()
        self.configuration = configuration
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
        self.metrics = AnswerMetrics(listener: "api", factory: metrics)
        listenerMetrics = ListenerMetrics(listener: "api", factory: metrics, log: refusalLog)
        self.onBound = onBound
        admission = Admission(configuration.pathLimits)
        store = ShopStore(pool: pool, logger: logger)
        feedStore = ShopStore(pool: feedPool ?? pool, logger: logger)
        standbyStore = standbyPool.map { ShopStore(pool: $0, logger: logger) }
    }

    /// Serves until graceful shutdown, then until the last request is answered or the grace period ends. At shutdown, requests that wait for
    /// an outcome or for the feed are answered at once.
    ///
    /// - Throws: `ServerError` when the address cannot be bound.
    package func run() async throws {
        let watch = FeedWatch(limit: configuration.limits.maximumConnections / 2) { [store] in try await store.feedEnd() }
        let routes = ShopRoutes(
            store: store,
            feedStore: feedStore,
            standbyStore: standbyStore,
            watch: watch,
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
            metrics: listenerMetrics,
            eventLoopGroup: eventLoopGroup,
            logger: logger,
            onBound: onBound
        )
        var group = ServiceGroupConfiguration(services: [watch, listener], logger: logger.forServiceGroup)
        group.maximumGracefulShutdownDuration = configuration.limits.shutdownGrace + .seconds(2)
        let services = ServiceGroup(configuration: group)
        try await withGracefulShutdownHandler {
            try await services.run()
        } onGracefulShutdown: {
            admission.beginShutdown()
            watch.stop()
        }
    }
}
