package import Logging
package import Outbox
package import Postgres
package import ServerAPI
import ServiceLifecycle
package import ServiceSupport
import Synchronization

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

    private let configuration: Configuration
    private let store: ImportStore
    private let client: ServerAPIClient
    private let logger: Logger
    private let heartbeat: @Sendable () -> LoopHeartbeat
    private let database: DatabaseUse
    private let lanes: ImportLanes
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

    /// Chunks whose users become owners between two leases: those that wait for their events would keep the loop.
    private static var linksInARow: Int { 10 }
    /// Tokens that are set between two leases: more in a second than Apple answers.
    private static var tokensInARow: Int { 100 }

    /// Leases chunks, and asks the items of each in a task of its own, until those in flight are released. Each lane has slots of its own: none
    /// delays another.
    private func askChunks(through exchange: Exchange) async {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        await withDiscardingTaskGroup { group in
            await database.takeSteps(backingOff: configuration.outage) {
                heartbeat.beat()
                do {
                    let known = client.openLanes.sorted().flatMap { app in
                        ImportChunk.Depth.allCases.map { ImportLane(app: app, depth: $0) }
                    }
                    let free = lanes.free(of: known, at: .now)
                    for chunk in free.isEmpty ? [] : try await store.lease(free) {
                        lanes.acquire(chunk.lane)
                        group.addTask { await ask(chunk, through: exchange) }
                    }
                    for _ in 0..<Self.tokensInARow where !Task.isShuttingDownGracefully {
                        guard try await store.setToken() else { break }
                        heartbeat.beat()
                    }
                    for _ in 0..<Self.linksInARow where !Task.isShuttingDownGracefully {
                        guard try await store.link() else { break }
                        heartbeat.beat()
                    }
                } catch let error as PostgresError where error.isSerializationConflict {
                    // A batch of the worker has locked a contract that a user is to own. The link or token has changed nothing.
                }
                return configuration.pollPause
            }
        }
    }

    private func ask(_ chunk: ImportChunk, through exchange: Exchange) async {
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
            database.failed(error)
        }
        lanes.release(chunk.lane)
    }
}

/// What imports ask of an app and environment by one endpoint, which has a budget of its own.
struct ImportLane: Hashable, Sendable {
    let app: CallLane
    let depth: ImportChunk.Depth
}

/// The chunks that this process can still lease, and the lanes that rest.
final class ImportLanes: Sendable {
    private struct State {
        var taken = 0
        var restsUntil: ContinuousClock.Instant?
        /// Ids without an answer since the last one.
        var silent: Set<String> = []
        /// Rests for this since the last answer, which ends the one that lasts.
        var rests = 0
        var silentUntil: ContinuousClock.Instant?
    }

    /// Ids without an answer, and none with one between them, after which the lane is silent.
    private static let limit = 3

    private let perLane: Int
    private let backoff: Backoff
    private let states = Mutex<[ImportLane: State]>([:])

    /// - Parameter backoff: the rests of a lane that is silent.
    init(perLane: Int, backoff: Backoff) {
        self.perLane = perLane
        self.backoff = backoff
    }

    func free(of lanes: [ImportLane], at now: ContinuousClock.Instant) -> [(lane: ImportLane, count: Int)] {
        states.withLock { states in
            lanes.compactMap { lane -> (lane: ImportLane, count: Int)? in
                let state = states[lane, default: State()]
                if let end = [state.restsUntil, state.silentUntil].compactMap(\.self).max(), end > now { return nil }
                return state.taken < perLane ? (lane, perLane - state.taken) : nil
            }
        }
    }

    func acquire(_ lane: ImportLane) { states.withLock { $0[lane, default: State()].taken += 1 } }
    func release(_ lane: ImportLane) { states.withLock { $0[lane, default: State()].taken -= 1 } }

    func rest(_ lane: ImportLane, until instant: ContinuousClock.Instant) {
        states.withLock { states in
            let end = states[lane]?.restsUntil ?? instant
            states[lane, default: State()].restsUntil = max(end, instant)
        }
    }

    /// Lets a silent lane rest, longer each time. Its chunks end one after the other: the first one begins the rest.
    func restSilently(_ lane: ImportLane, at now: ContinuousClock.Instant) {
        var generator = SystemRandomNumberGenerator()
        states.withLock { states in
            var state = states[lane, default: State()]
            if let end = state.silentUntil, end > now { return }
            state.rests += 1
            state.silentUntil = now + backoff.delay(afterFailures: state.rests, using: &generator)
            states[lane] = state
        }
    }

    func isSilent(_ lane: ImportLane) -> Bool { states.withLock { $0[lane, default: State()].silent.count >= Self.limit } }

    /// Apple has answered something.
    func hear(_ lane: ImportLane) {
        states.withLock { states in
            states[lane, default: State()].silent = []
            states[lane, default: State()].rests = 0
            states[lane, default: State()].silentUntil = nil
        }
    }

    /// Apple has not answered for this id. Returns whether the lane is silent: then the id may not be to blame.
    func miss(_ id: String, in lane: ImportLane) -> Bool {
        states.withLock { states in
            var silent = states[lane, default: State()].silent
            if silent.count < Self.limit { silent.insert(id) }
            states[lane, default: State()].silent = silent
            return silent.count >= Self.limit
        }
    }
}
