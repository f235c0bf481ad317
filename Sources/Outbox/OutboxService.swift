package import Logging
package import Metrics
package import Postgres
import ServiceLifecycle

/// Makes the calls that are in the outbox: a few of each kind at once, each leased, asked, and settled; no transaction is open while somebody
/// is asked.
///
/// Run as many as you like; they share nothing but PostgreSQL. One that dies leaves leases that run out.
package struct OutboxService: Service {
    private let lanes: [OutboxLane]
    private let configuration: Configuration
    private let exchange: Exchange?

    /// - Parameters:
    ///   - pool: lends a connection for each statement; none is held while somebody is asked.
    ///   - makers: one for each kind of call that this process makes.
    ///   - heartbeat: begins one for each thing that is done.
    ///   - exchange: for tests; by default requests go out by HTTP.
    package init(
        pool: ConnectionPool,
        makers: [any CallMaker],
        configuration: Configuration = Configuration(),
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        heartbeat: @escaping @Sendable () -> Heartbeat = { Heartbeat(beat: {}, finish: {}) },
        exchange: Exchange? = nil
    ) {
        let store = OutboxStore(pool: pool)
        let metrics = OutboxMetrics(kinds: Set(makers.map(\.kind)), factory: metrics)
        let outage = OutageNotice()
        lanes = makers.map { maker in
            OutboxLane(
                maker: maker,
                store: store,
                configuration: configuration,
                logger: logger,
                metrics: metrics,
                heartbeat: heartbeat,
                outage: outage
            )
        }
        self.configuration = configuration
        self.exchange = exchange
    }

    /// Runs until graceful shutdown, and gives back what it has leased and not yet heard of.
    ///
    /// - Throws: when a certificate that is to be trusted cannot be read.
    package func run() async throws {
        if let exchange { return await drain(exchange) }
        try await Exchange.withClient(configuration.exchange) { await drain($0) }
    }

    private func drain(_ exchange: Exchange) async {
        await withTaskGroup { group in
            for lane in lanes {
                group.addTask { await lane.run(exchange) }
            }
        }
    }
}
