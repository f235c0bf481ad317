package import Logging
package import Metrics
package import Postgres
import Reporting
import ServiceLifecycle
package import Systemd

/// Sends entries of the feed to the endpoints of operators, at least once, in the order of each subject.
///
/// Any number of processes may run it: each leases endpoints, and the leases of a process that dies expire. No transaction is open during an
/// attempt. A process that dies or loses the database repeats what was in flight, with the same ids.
package struct WebhookService: Service {
    private let configuration: Configuration
    private let context: WebhookContext

    /// - Parameters:
    ///   - pool: lends a connection for each statement; none is held during an attempt.
    ///   - masters: asked for each attempt; nothing is sent while it is nil.
    ///   - headers: the fields of the operator for an endpoint; asked for each attempt.
    ///   - heartbeat: begins the heartbeat of a loop, which beats at least once a second.
    package init(
        pool: ConnectionPool,
        configuration: Configuration,
        masters: @escaping @Sendable () -> WebhookMasters?,
        headers: @escaping @Sendable (_ endpoint: String) -> [(name: String, value: String)],
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        heartbeat: @escaping @Sendable () -> LoopHeartbeat = { .none }
    ) {
        self.configuration = configuration
        context = WebhookContext(
            store: WebhookStore(pool: pool),
            configuration: configuration,
            masters: masters,
            headers: headers,
            logger: logger,
            metrics: metrics,
            heartbeat: heartbeat,
            database: DatabaseUse(by: "webhooks", logger: logger),
            givenUp: OccurrenceSummary("webhooks given up after their last attempt", logger: logger)
        )
    }

    /// Runs until graceful shutdown, then ends what is in flight and the leases.
    ///
    /// - Throws: when a file of `extraRootPaths` cannot be used.
    package func run() async throws {
        let exchange = try EndpointExchange(configuration)
        defer { exchange.close() }
        await WebhookDispatcher(context: context, exchange: exchange).run()
    }
}

/// What all loops of the service share.
struct WebhookContext: Sendable {
    let store: WebhookStore
    let configuration: WebhookService.Configuration
    let masters: @Sendable () -> WebhookMasters?
    let headers: @Sendable (_ endpoint: String) -> [(name: String, value: String)]
    let logger: Logger
    let metrics: any MetricsFactory
    let heartbeat: @Sendable () -> LoopHeartbeat
    var database: DatabaseUse
    let givenUp: OccurrenceSummary
}
