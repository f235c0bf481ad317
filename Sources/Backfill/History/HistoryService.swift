package import Logging
package import Metrics
package import Outbox
package import Postgres
package import ServerAPI
import ServiceLifecycle
package import ServiceSupport
import Synchronization

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

    private let configuration: Configuration
    private let store: HistoryStore
    private let client: ServerAPIClient
    private let metrics: HistoryMetrics
    private let logger: Logger
    private let heartbeat: @Sendable () -> LoopHeartbeat
    private let database: DatabaseUse
    private let slots: HistorySlots
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

    /// Makes windows, leases them, and reads each in a task of its own, until those in flight are released. The near walk has slots of its own:
    /// days of the past do not delay it.
    private func readWindows(through exchange: Exchange) async {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        await withDiscardingTaskGroup { group in
            var nextPlanAt = ContinuousClock.now
            await database.takeSteps(backingOff: configuration.outage) {
                heartbeat.beat()
                let lanes = client.lanes.sorted()
                if !lanes.isEmpty, .now >= nextPlanAt {
                    try await store.plan(lanes)
                    try await store.classify()
                    nextPlanAt = .now + configuration.planPause
                }
                // Without those whose keys Apple refuses: another worker may have a better key, or a better clock.
                for window in try await lease(client.openLanes.sorted()) {
                    slots.acquire(window)
                    group.addTask { await read(window, through: exchange) }
                }
                return configuration.pollPause
            }
        }
    }

    private func lease(_ lanes: [CallLane]) async throws -> [HistoryWindow] {
        let (lanes, near, days) = slots.free(for: lanes, at: .now)
        guard !lanes.isEmpty, near + days > 0 else { return [] }
        return try await store.lease(lanes, near: near, days: days)
    }

    private func read(_ window: HistoryWindow, through exchange: Exchange) async {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        let walk = HistoryWalk(
            store: store,
            client: client,
            exchange: exchange,
            backoff: configuration.backoff,
            metrics: metrics,
            logger: logger,
            beat: heartbeat.beat
        )
        do {
            if case .rests(let delay) = try await walk.run(window) { slots.rest(window.lane, until: .now + delay) }
        } catch {
            database.failed(error)
        }
        slots.release(window)
    }
}

/// The windows that this process can still lease, and the apps that rest.
private final class HistorySlots: Sendable {
    private struct State {
        var near: Int
        var days: Int
        var resting: [CallLane: ContinuousClock.Instant] = [:]
    }

    private let state: Mutex<State>

    init(near: Int, days: Int) {
        state = Mutex(State(near: near, days: days))
    }

    func free(for lanes: [CallLane], at now: ContinuousClock.Instant) -> (lanes: [CallLane], near: Int, days: Int) {
        state.withLock { state in
            state.resting = state.resting.filter { $0.value > now }
            return (lanes.filter { state.resting[$0] == nil }, state.near, state.days)
        }
    }

    func acquire(_ window: HistoryWindow) { change(window, by: -1) }
    func release(_ window: HistoryWindow) { change(window, by: 1) }
    func rest(_ lane: CallLane, until instant: ContinuousClock.Instant) { state.withLock { $0.resting[lane] = instant } }

    private func change(_ window: HistoryWindow, by count: Int) {
        state.withLock { state in
            if window.isNear { state.near += count } else { state.days += count }
        }
    }
}

/// The metrics of reading the history in this process.
struct HistoryMetrics: Sendable {
    let factory: any MetricsFactory

    func failed(_ reason: String) {
        Counter(label: "appstore_inbox_history_errors_total", dimensions: [("reason", reason)], factory: factory).increment()
    }
}
