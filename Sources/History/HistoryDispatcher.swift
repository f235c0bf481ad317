import Logging
import Outbox
import Postgres
import Reporting
import ServerAPI
import ServiceLifecycle
import Synchronization
import Systemd

/// Makes windows, leases them, and reads each in a task of its own. The near walk has slots of its own: days of the past do not delay it.
struct HistoryDispatcher: Sendable {
    let configuration: HistoryService.Configuration
    let store: HistoryStore
    let client: ServerAPIClient
    let exchange: Exchange
    let metrics: HistoryMetrics
    let logger: Logger
    let heartbeat: @Sendable () -> LoopHeartbeat
    private let outage = EdgeTrigger()
    private let slots: HistorySlots

    init(
        configuration: HistoryService.Configuration,
        store: HistoryStore,
        client: ServerAPIClient,
        exchange: Exchange,
        metrics: HistoryMetrics,
        logger: Logger,
        heartbeat: @escaping @Sendable () -> LoopHeartbeat
    ) {
        self.configuration = configuration
        self.store = store
        self.client = client
        self.exchange = exchange
        self.metrics = metrics
        self.logger = logger
        self.heartbeat = heartbeat
        slots = HistorySlots(near: configuration.nearSlots, days: configuration.daySlots)
    }

    /// Runs until graceful shutdown, then until the windows in flight are released.
    func run() async {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        await withDiscardingTaskGroup { group in
            var nextPlanAt = ContinuousClock.now
            var wait = configuration.outage
            var generator = SystemRandomNumberGenerator()
            while !Task.isShuttingDownGracefully, !Task.isCancelled {
                heartbeat.beat()
                do {
                    let lanes = client.lanes.sorted()
                    if !lanes.isEmpty, .now >= nextPlanAt {
                        try await store.plan(lanes)
                        try await store.classify()
                        nextPlanAt = .now + configuration.planPause
                    }
                    // Without those whose keys Apple refuses: another worker may have a better key, or a better clock.
                    for window in try await lease(client.openLanes.sorted()) {
                        slots.acquire(window)
                        group.addTask { await read(window) }
                    }
                    if outage.ended() { logger.notice("the history can use the database again") }
                    wait.reset()
                    await Task.rest(for: configuration.pollPause)
                } catch {
                    databaseFailed(error)
                    await Task.rest(for: wait.next(using: &generator))
                }
            }
        }
    }

    private func lease(_ lanes: [CallLane]) async throws -> [HistoryWindow] {
        let (lanes, near, days) = slots.free(for: lanes, at: .now)
        guard !lanes.isEmpty, near + days > 0 else { return [] }
        return try await store.lease(lanes, near: near, days: days)
    }

    private func read(_ window: HistoryWindow) async {
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
            databaseFailed(error)
        }
        slots.release(window)
    }

    /// Logs the first failure as a warning.
    private func databaseFailed(_ error: any Error) {
        if error is CancellationError, Task.isCancelled { return }
        let level: Logger.Level = !error.isDatabaseOutage && outage.began() ? .warning : .debug
        logger.log(level: level, "the history cannot use the database", metadata: [LogKey.error: "\(error)"])
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
