package import Logging
package import Metrics
package import Postgres
import ServiceLifecycle
package import Systemd

/// Makes the calls in the outbox, a few of each handler's at once: leases a call, makes it, and settles it. No transaction is open during a call.
///
/// Any number of processes may run it; they share nothing but PostgreSQL. The leases of a process that dies expire.
package struct OutboxService: Service {
    private let dispatchers: [CallDispatcher]
    private let configuration: Configuration
    private let exchange: Exchange?

    /// - Parameters:
    ///   - pool: lends a connection for each statement; none is held during a call.
    ///   - handlers: each for some kinds of the calls that this process makes.
    ///   - heartbeat: begins a heartbeat for each attempt and each poll. It beats after each step, none of which takes longer than the timeout
    ///     of a request or a statement.
    ///   - exchange: for tests; nil sends requests by HTTP.
    package init(
        pool: ConnectionPool,
        handlers: [any CallHandler],
        configuration: Configuration = Configuration(),
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        heartbeat: @escaping @Sendable () -> LoopHeartbeat = { .none },
        exchange: Exchange? = nil
    ) {
        let store = OutboxStore(pool: pool)
        let metrics = OutboxMetrics(kinds: Set(handlers.flatMap(\.kinds)), factory: metrics)
        let database = DatabaseUse(by: "the outbox", logger: logger)
        dispatchers = handlers.map { handler in
            CallDispatcher(
                handler: handler,
                store: store,
                configuration: configuration,
                logger: logger,
                metrics: metrics,
                heartbeat: heartbeat,
                database: database
            )
        }
        self.configuration = configuration
        self.exchange = exchange
    }

    /// Runs until graceful shutdown, then releases the leases of calls without an answer.
    ///
    /// - Throws: when a file of `extraRootPaths` cannot be read.
    package func run() async throws {
        try await Exchange.withClient(configuration.exchange, orUsing: exchange) { exchange in
            await withTaskGroup { group in
                for dispatcher in dispatchers {
                    group.addTask { await dispatcher.run(exchange) }
                }
            }
        }
    }
}
