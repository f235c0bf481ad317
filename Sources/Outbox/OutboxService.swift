package import Logging
package import Metrics
package import Postgres
import ServiceLifecycle
package import ServiceSupport
import Synchronization

/// Makes the calls in the outbox, a few of each handler's at once: leases a call, makes it, and settles it. No transaction is open during a call.
///
/// Any number of processes may run it; they share nothing but PostgreSQL. The leases of a process that dies expire.
package struct OutboxService: Service {
    /// How calls are made.
    package struct Configuration: Sendable {
        /// The duration of a lease. It must be longer than an attempt.
        package var lease: Duration = .seconds(120)
        /// The timeout of an attempt with all its requests.
        package var attemptTimeout: Duration = .seconds(75)
        /// The timeout of one request.
        package var requestTimeout: Duration = .seconds(30)
        /// The pauses while no call of a kind is due.
        package var rest = Backoff(base: .milliseconds(50), cap: .seconds(1))
        /// The pauses while the database is unavailable.
        package var outage = Backoff(base: .milliseconds(200), cap: .seconds(10))
        package var rules = CallRules()
        package var exchange = Exchange.Configuration()

        package init() {}
    }

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

/// Makes the calls of one handler, as many at once as it has slots. One statement leases calls for all free slots.
private struct CallDispatcher: Sendable {
    let handler: any CallHandler
    let store: OutboxStore
    let configuration: OutboxService.Configuration
    let logger: Logger
    let metrics: OutboxMetrics
    let heartbeat: @Sendable () -> LoopHeartbeat
    /// Shared by all kinds, which use the same database.
    let database: DatabaseUse

    /// Runs until graceful shutdown, then ends with the last call in flight.
    func run(_ exchange: Exchange) async {
        let slots = CallSlots(handler.slots)
        await withDiscardingTaskGroup { group in
            var rest = configuration.rest
            var wait = configuration.outage
            while let view = await waitForFreeSlot(slots) {
                let heartbeat = heartbeat()
                defer { heartbeat.finish() }
                heartbeat.beat()
                if view.lastWasSettled == true { databaseWorks(&wait) }
                if view.lastWasSettled == false {
                    await pause(&wait)
                    continue
                }
                let lanes = handler.lanes.sorted()
                guard !lanes.isEmpty else {
                    await pause(&rest)
                    continue
                }
                do {
                    let calls = try await store.lease(handler.kinds, in: lanes, atMost: view.free, for: configuration.lease)
                    for call in calls {
                        slots.acquire()
                        group.addTask { slots.release(settled: await make(call, exchange)) }
                    }
                    if calls.isEmpty {
                        databaseWorks(&wait)
                        await pause(&rest)
                    } else {
                        rest.reset()
                    }
                } catch {
                    if database.failed(error) { await pause(&wait) }
                }
            }
        }
    }

    /// Nil when the service shuts down.
    private func waitForFreeSlot(_ slots: CallSlots) async -> CallSlots.View? {
        let view = await slots.waitForFreeSlot()
        return Task.isEnding ? nil : view
    }

    /// Makes one attempt and settles the call; false when the call could not be settled. Its lease then expires.
    private func make(_ call: LeasedCall, _ exchange: Exchange) async -> Bool {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        heartbeat.beat()
        do {
            let start = ContinuousClock.now
            guard let result = await handler.result(of: call, through: limited(exchange, since: start, heartbeat)) else {
                try await store.release(call)
                return true
            }
            var generator = SystemRandomNumberGenerator()
            let verdict = configuration.rules.verdict(on: result, of: call, elapsed: .now - start, using: &generator)
            try await settle(call, verdict, heartbeat)
            return true
        } catch {
            return !database.failed(error)
        }
    }

    private func settle(_ call: LeasedCall, _ verdict: CallRules.Verdict, _ heartbeat: LoopHeartbeat) async throws {
        do {
            let isSettled = try await store.settle(call, verdict)
            metrics.count(isSettled ? OutboxMetrics.Result(verdict) : .late, kind: call.kind)
            report(call, verdict, isSettled: isSettled)
        } catch let error as PostgresError where error.code == .sql && !error.isRetryable && verdict.isAnswer {
            // A retry would not help: the inbox would refuse the next answer, too.
            logger.error("the inbox does not accept an answer", metadata: metadata(call).merging([LogKey.error: "\(error)"]) { $1 })
            heartbeat.beat()
            try await settle(call, .refuse(reason: "answer_not_taken"), heartbeat)
        }
    }

    /// The exchange of one attempt: within its time, and until the shutdown.
    private func limited(_ exchange: Exchange, since start: ContinuousClock.Instant, _ heartbeat: LoopHeartbeat) -> Exchange {
        Exchange { [configuration, metrics] request, timeout in
            let left = configuration.attemptTimeout - (.now - start)
            guard left > .zero else { return .failure(.timedOut) }
            let sent = ContinuousClock.now
            let answer = await cancelWhenGracefulShutdown {
                await exchange.send(request, timeout: min(left, timeout, configuration.requestTimeout))
            }
            heartbeat.beat()
            if case .failure(.shuttingDown) = answer { return answer }
            metrics.exchanged(after: .now - sent)
            return answer
        }
    }

    private func databaseWorks(_ wait: inout Backoff) {
        database.succeeded()
        wait.reset()
    }

    private func report(_ call: LeasedCall, _ verdict: CallRules.Verdict, isSettled: Bool) {
        let metadata = metadata(call)
        guard isSettled else { return logger.notice("another worker has the call, its answer is dropped", metadata: metadata) }
        switch verdict {
        case .answer, .page(_, _, nil): logger.debug("call answered", metadata: metadata)
        case .page: logger.debug("page of a call stored", metadata: metadata)
        case .postpone(let reason, _, let countsAttempt):
            let level: Logger.Level = countsAttempt ? .info : .debug
            logger.log(level: level, "call postponed", metadata: metadata.merging([LogKey.reason: "\(reason)"]) { $1 })
        case .refuse(let reason), .deny(let reason):
            logger.warning("call refused", metadata: metadata.merging([LogKey.reason: "\(reason)"]) { $1 })
        case .giveUp(let reason): logger.warning("call given up", metadata: metadata.merging([LogKey.reason: "\(reason)"]) { $1 })
        }
    }

    private func metadata(_ call: LeasedCall) -> Logger.Metadata {
        [LogKey.call: "\(call.callID)", LogKey.kind: "\(call.kind)"]
    }

    private func pause(_ backoff: inout Backoff) async {
        var generator = SystemRandomNumberGenerator()
        await Task.rest(for: backoff.next(using: &generator))
    }
}

extension CallRules.Verdict {
    fileprivate var isAnswer: Bool {
        switch self {
        case .answer, .page: true
        case .refuse, .deny, .giveUp, .postpone: false
        }
    }
}

/// A semaphore for calls of one kind. It also remembers whether the last finished call could be settled.
private final class CallSlots: Sendable {
    struct View {
        /// At least 1.
        let free: Int
        /// Whether the last finished call could be settled; nil when none has finished since the last view.
        let lastWasSettled: Bool?
    }

    private struct State {
        var free: Int
        var lastWasSettled: Bool?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state: Mutex<State>

    init(_ count: Int) {
        state = Mutex(State(free: count))
    }

    /// Waits for a free slot. Cancellation is not needed, because every call ends in time. Supports one waiter at a time.
    func waitForFreeSlot() async -> View {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.free == 0 { state.waiter = continuation }
                return state.free > 0
            }
            if isFree { continuation.resume() }
        }
        return state.withLock { state in
            defer { state.lastWasSettled = nil }
            return View(free: state.free, lastWasSettled: state.lastWasSettled)
        }
    }

    /// Takes a slot that ``waitForFreeSlot()`` has reported free.
    func acquire() { state.withLock { $0.free -= 1 } }

    func release(settled: Bool) {
        let waiter = state.withLock { state in
            state.free += 1
            state.lastWasSettled = settled
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}

/// The metrics of the outbox.
private struct OutboxMetrics: Sendable {
    /// The result of an attempt, as a label.
    enum Result: String, CaseIterable, Sendable {
        case answered, refused, postponed
        case givenUp = "given_up"
        /// There was a later lease.
        case late

        init(_ verdict: CallRules.Verdict) {
            self =
                switch verdict {
                case .answer, .page: .answered
                case .refuse, .deny: .refused
                case .giveUp: .givenUp
                case .postpone: .postponed
                }
        }
    }

    private let attempts: [String: [Result: Counter]]
    private let exchange: Timer

    init(kinds: Set<String>, factory: any MetricsFactory) {
        attempts = Dictionary(
            uniqueKeysWithValues: kinds.map { kind in
                let counters = Result.allCases.map { result in
                    let dimensions = [("kind", kind), ("result", result.rawValue)]
                    return (result, Counter(label: "appstore_inbox_outbox_attempts_total", dimensions: dimensions, factory: factory))
                }
                return (kind, Dictionary(uniqueKeysWithValues: counters))
            }
        )
        exchange = Timer(label: "appstore_inbox_outbox_exchange_seconds", factory: factory)
    }

    func count(_ result: Result, kind: String) { attempts[kind]?[result]?.increment() }

    func exchanged(after duration: Duration) { exchange.record(duration: duration) }
}

/// The keys of what this module logs.
private enum LogKey {
    static let call = "outbox.call"
    static let kind = "outbox.kind"
    static let reason = "outbox.reason"
    static let error = "error"
}
