package import Logging
package import Outbox
package import Postgres
package import ServerAPI
import ServiceLifecycle
package import Systemd

/// Asks Apple about the items of imports, of each app and environment that has a key, and makes their users owners.
///
/// Any number of processes may run it; they share the items through leases, and the leases of a process that dies expire.
package struct ImportService: Service {
    /// How imports are asked.
    package struct Configuration: Sendable {
        package var exchange = Exchange.Configuration()
        /// How many requests of each app, environment and depth this process has in flight.
        package var slots = 16
        /// The duration of a lease; each answer renews it.
        package var leaseSeconds = 120
        /// The pause between two searches for due chunks.
        package var pollPause: Duration = .milliseconds(500)
        /// The delays of a chunk that fails, and the rests of a lane that is silent.
        package var backoff = Backoff(base: .seconds(5), cap: .seconds(3600), jitter: 0.5)
        /// The pauses while the database is unavailable.
        package var outage = Backoff(base: .milliseconds(200), cap: .seconds(5))

        package init() {}
    }

    let configuration: Configuration
    let store: ImportStore
    let client: ServerAPIClient
    let logger: Logger
    let heartbeat: @Sendable () -> LoopHeartbeat
    let database: DatabaseUse
    let lanes: ImportLanes
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
        heartbeat: @escaping @Sendable () -> LoopHeartbeat = { .none },
        exchange: Exchange? = nil
    ) {
        self.configuration = configuration
        store = ImportStore(pool: pool, leaseSeconds: configuration.leaseSeconds)
        self.client = client
        self.logger = logger
        self.heartbeat = heartbeat
        database = DatabaseUse(by: "imports", logger: logger)
        lanes = ImportLanes(perLane: configuration.slots, backoff: configuration.backoff)
        self.exchange = exchange
    }

    /// Runs until graceful shutdown, then releases the chunks in flight.
    ///
    /// - Throws: when a file of `extraRootPaths` cannot be read.
    package func run() async throws {
        try await Exchange.withClient(configuration.exchange, orUsing: exchange) { await askChunks(through: $0) }
    }
}
