import Logging
import Outbox
import Postgres
import Reporting
import ServerAPI
import ServiceLifecycle
import Synchronization
import Systemd

/// Leases chunks, and asks the items of each in a task of its own. Each app and environment has slots of its own: none delays another.
struct ImportDispatcher: Sendable {
    let configuration: ImportService.Configuration
    let store: ImportStore
    let client: ServerAPIClient
    let exchange: Exchange
    let logger: Logger
    let heartbeat: @Sendable () -> LoopHeartbeat
    private let outage = EdgeTrigger()
    private let slots: ImportSlots

    init(
        configuration: ImportService.Configuration,
        store: ImportStore,
        client: ServerAPIClient,
        exchange: Exchange,
        logger: Logger,
        heartbeat: @escaping @Sendable () -> LoopHeartbeat
    ) {
        self.configuration = configuration
        self.store = store
        self.client = client
        self.exchange = exchange
        self.logger = logger
        self.heartbeat = heartbeat
        slots = ImportSlots(perLane: configuration.slots)
    }

    /// Runs until graceful shutdown, then until the chunks in flight are released.
    func run() async {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        await withDiscardingTaskGroup { group in
            var wait = configuration.outage
            var generator = SystemRandomNumberGenerator()
            while !Task.isShuttingDownGracefully, !Task.isCancelled {
                heartbeat.beat()
                do {
                    let free = slots.free(for: client.lanes.sorted(), at: .now)
                    for chunk in free.isEmpty ? [] : try await store.lease(free) {
                        slots.acquire(chunk.lane)
                        group.addTask { await ask(chunk) }
                    }
                    while try await store.link(), !Task.isShuttingDownGracefully { heartbeat.beat() }
                    if outage.ended() { logger.notice("imports can use the database again") }
                    wait.reset()
                    await Task.rest(for: configuration.pollPause)
                } catch let error as PostgresError where error.isSerializationConflict {
                    // A batch of the worker has locked a contract that a user is to own. The link has changed nothing.
                    await Task.rest(for: configuration.pollPause)
                } catch {
                    databaseFailed(error)
                    await Task.rest(for: wait.next(using: &generator))
                }
            }
        }
    }

    private func ask(_ chunk: ImportChunk) async {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        let walk = ImportWalk(
            store: store,
            client: client,
            exchange: exchange,
            backoff: configuration.backoff,
            logger: logger,
            beat: heartbeat.beat
        )
        do {
            if case .rests(let delay) = try await walk.run(chunk) { slots.rest(chunk.lane, until: .now + delay) }
        } catch {
            databaseFailed(error)
        }
        slots.release(chunk.lane)
    }

    /// Logs the first failure as a warning.
    private func databaseFailed(_ error: any Error) {
        if error is CancellationError, Task.isCancelled { return }
        let level: Logger.Level = !error.isDatabaseOutage && outage.began() ? .warning : .debug
        logger.log(level: level, "imports cannot use the database", metadata: [LogKey.error: "\(error)"])
    }
}

/// The chunks that this process can still lease, and the apps that rest.
private final class ImportSlots: Sendable {
    private struct State {
        var taken: [CallLane: Int] = [:]
        var resting: [CallLane: ContinuousClock.Instant] = [:]
    }

    private let perLane: Int
    private let state = Mutex(State())

    init(perLane: Int) {
        self.perLane = perLane
    }

    func free(for lanes: [CallLane], at now: ContinuousClock.Instant) -> [(lane: CallLane, count: Int)] {
        state.withLock { state in
            state.resting = state.resting.filter { $0.value > now }
            return lanes.filter { state.resting[$0] == nil }
                .map { (lane: $0, count: perLane - state.taken[$0, default: 0]) }
                .filter { $0.count > 0 }
        }
    }

    func acquire(_ lane: CallLane) { state.withLock { $0.taken[lane, default: 0] += 1 } }
    func release(_ lane: CallLane) { state.withLock { $0.taken[lane, default: 1] -= 1 } }
    func rest(_ lane: CallLane, until instant: ContinuousClock.Instant) { state.withLock { $0.resting[lane] = instant } }
}
