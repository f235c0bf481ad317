package import HTTPServing
package import Logging
package import Metrics
package import NIOCore
import NIOPosix
package import Postgres
import ServiceLifecycle

/// The console for operators: pages about the inbox and the ledger, and forms that repair.
package struct ConsoleServer: Service {
    /// Where the console is and who may use it.
    package struct Configuration: Sendable {
        package var listen: ListenAddress
        /// The origin that browsers see; nil for a console that is reached on this machine without TLS.
        package var origin: String?
        /// Whether nothing can be changed.
        package var isReadOnly = false
        /// How an authenticating proxy names people; nil for logins by link.
        package var proxy: Proxy?
        package var limits: ListenerLimits

        package init(listen: ListenAddress) {
            self.listen = listen
            limits = ListenerLimits()
            limits.maximumBodyBytes = 64 * 1024
            limits.maximumBytesInMemory = 4 * 1024 * 1024
            limits.maximumConnections = 64
        }
    }

    /// An authenticating proxy in front of the console, whose word is taken.
    package struct Proxy: Sendable {
        /// The name of the header field with the person's name.
        package let field: String
        /// The people who may use the console, asked with each request.
        package let names: @Sendable () -> TrustedNames

        package init(field: String, names: @escaping @Sendable () -> TrustedNames) {
            (self.field, self.names) = (field, names)
        }
    }

    private let admission: Admission
    private let listener: HTTPListener

    /// Creates a server that listens while `run()` runs.
    ///
    /// - Parameters:
    ///   - pool: connections of role `appstore_console`; it must still run when this service shuts down.
    ///   - health: makes the checks that the page Health shows.
    ///   - bodyCheck: verifies the body of an event; nil where the console has not the settings for that.
    ///   - onBound: called with the port, nil for a Unix socket, when the address is bound.
    /// - Throws: `ServerError` when the configuration is invalid.
    package init(
        configuration: Configuration,
        pool: ConnectionPool,
        health: @escaping HealthReport,
        bodyCheck: BodyCheck? = nil,
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        refusalLog: RefusalLog? = nil,
        onBound: @escaping @Sendable (Int?) async -> Void = { _ in }
    ) throws(ServerError) {
        try configuration.limits.validate()
        admission = Admission(configuration.limits)
        let pages = ConsolePages(health: health, bodyCheck: bodyCheck)
        let routes = ConsoleRoutes(
            pages: pages,
            access: Access(configuration),
            metrics: AnswerMetrics(listener: "console", factory: metrics),
            transactions: ConsoleTransactions(pool: pool, logger: logger),
            isReadOnly: configuration.isReadOnly
        )
        listener = HTTPListener(
            address: configuration.listen,
            limits: configuration.limits,
            routes: routes.routes,
            admission: admission,
            metrics: ListenerMetrics(listener: "console", factory: metrics, log: refusalLog),
            eventLoopGroup: eventLoopGroup,
            logger: logger,
            onBound: onBound
        )
    }

    /// Serves until graceful shutdown, then until the last request is answered or the grace period ends.
    ///
    /// - Throws: `ServerError` when the address cannot be bound.
    package func run() async throws {
        try await withGracefulShutdownHandler {
            try await listener.run()
        } onGracefulShutdown: { [admission] in
            admission.beginShutdown()
        }
    }
}
