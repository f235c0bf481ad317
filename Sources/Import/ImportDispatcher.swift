import Logging
import Outbox
import Postgres
import Reporting
import ServerAPI
import ServiceLifecycle
import Systemd

/// Leases chunks, and asks the items of each in a task of its own. Each lane has slots of its own: none delays another.
struct ImportDispatcher: Sendable {
    let configuration: ImportService.Configuration
    let store: ImportStore
    let client: ServerAPIClient
    let exchange: Exchange
    let logger: Logger
    let heartbeat: @Sendable () -> LoopHeartbeat
    private let outage = EdgeTrigger()
    private let lanes: ImportLanes

    /// Chunks whose users become owners between two leases: those that wait for their events would keep the loop.
    private static let linksInARow = 10

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
        lanes = ImportLanes(perLane: configuration.slots, backoff: configuration.backoff)
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
                    let known = client.openLanes.sorted().flatMap { app in
                        ImportChunk.Depth.allCases.map { ImportLane(app: app, depth: $0) }
                    }
                    let free = lanes.free(of: known, at: .now)
                    for chunk in free.isEmpty ? [] : try await store.lease(free) {
                        lanes.acquire(chunk.lane)
                        group.addTask { await ask(chunk) }
                    }
                    for _ in 0..<Self.linksInARow where !Task.isShuttingDownGracefully {
                        guard try await store.link() else { break }
                        heartbeat.beat()
                    }
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
            lanes: lanes,
            backoff: configuration.backoff,
            logger: logger,
            beat: heartbeat.beat
        )
        do {
            switch try await walk.run(chunk) {
            case .over: break
            case .rests(let delay): lanes.rest(chunk.lane, until: .now + delay)
            case .silent: lanes.restSilently(chunk.lane, at: .now)
            }
        } catch {
            databaseFailed(error)
        }
        lanes.release(chunk.lane)
    }

    /// Logs the first failure as a warning.
    private func databaseFailed(_ error: any Error) {
        if error is CancellationError, Task.isCancelled { return }
        let level: Logger.Level = !error.isDatabaseOutage && outage.began() ? .warning : .debug
        logger.log(level: level, "imports cannot use the database", metadata: [LogKey.error: "\(error)"])
    }
}
