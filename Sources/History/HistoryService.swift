package import Logging
package import Metrics
package import Outbox
package import Postgres
package import ServerAPI
import ServiceLifecycle
package import Systemd

/// Reads Apple's notification history, of each app and environment that has a key, into the inbox: what was never pushed becomes an event.
///
/// Any number of processes may run it; they share the windows through leases, and the leases of a process that dies expire.
package struct HistoryService: Service {
    /// How the history is read.
    package struct Configuration: Sendable {
        package var exchange = Exchange.Configuration()
        /// How many windows of the near walk this process reads at once.
        package var nearSlots = 2
        /// How many others: days of the past, and second walks.
        package var daySlots = 6
        /// The duration of a lease; each page renews it.
        package var leaseSeconds = 120
        /// The pause between two searches for due windows.
        package var pollPause: Duration = .seconds(1)
        /// The pause between two times that windows are made and records get their class.
        package var planPause: Duration = .seconds(10)
        /// The delays of a window that fails.
        package var backoff = Backoff(base: .seconds(5), cap: .seconds(3600), jitter: 0.5)
        /// The pauses while the database is unavailable.
        package var outage = Backoff(base: .milliseconds(200), cap: .seconds(5))

        package init() {}
    }

    let configuration: Configuration
    let store: HistoryStore
    let client: ServerAPIClient
    let metrics: HistoryMetrics
    let logger: Logger
    let heartbeat: @Sendable () -> LoopHeartbeat
    let database: DatabaseUse
    let slots: HistorySlots
    private let exchange: Exchange?

    /// - Parameters:
    ///   - pool: lends a connection for each statement; none is held while Apple is asked.
    ///   - heartbeat: begins the heartbeat of a loop, which beats before each step.
    ///   - exchange: for tests; nil sends requests by HTTP.
    package init(
        pool: ConnectionPool,
        client: ServerAPIClient,
        configuration: Configuration = Configuration(),
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        heartbeat: @escaping @Sendable () -> LoopHeartbeat = { .none },
        exchange: Exchange? = nil
    ) {
        self.configuration = configuration
        store = HistoryStore(pool: pool, leaseSeconds: configuration.leaseSeconds)
        self.client = client
        self.metrics = HistoryMetrics(factory: metrics)
        self.logger = logger
        self.heartbeat = heartbeat
        database = DatabaseUse(by: "the history", logger: logger)
        slots = HistorySlots(near: configuration.nearSlots, days: configuration.daySlots)
        self.exchange = exchange
    }

    /// Runs until graceful shutdown, then releases the windows in flight.
    ///
    /// - Throws: when a file of `extraRootPaths` cannot be read.
    package func run() async throws {
        try await Exchange.withClient(configuration.exchange, orUsing: exchange) { await readWindows(through: $0) }
    }
}
