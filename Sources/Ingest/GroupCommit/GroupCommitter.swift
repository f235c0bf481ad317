package import Logging
package import Metrics
package import Postgres
import SQL
import ServiceLifecycle
import ServiceSupport
import Synchronization

/// Group commit for the inbox: bodies that arrive at about the same time share one transaction. Each submission completes after its commit.
///
/// While the database is unavailable, submissions are refused at once until a probe succeeds. The committer retries nothing: the client does.
package final class GroupCommitter: Service {
    /// Stores bodies in one transaction and returns their event ids in the same order.
    typealias Receive = @Sendable (_ bodies: [[UInt8]], _ source: String) async throws -> [Int64]

    /// Receives the result of a submission.
    package typealias Completion = @Sendable (Result<Int64, GroupCommitError>) -> Void

    private let configuration: Configuration
    private let receive: Receive
    private let logger: Logger
    private let metrics: GroupCommitMetrics
    private let ticker: Ticker
    private let clock = ContinuousClock()
    private let waiters: Mutex<GroupCommitWaiters>
    private let backoff: Mutex<Backoff>
    private let latestID = Atomic<UInt64>(0)
    /// Whether a warning says that the database accepts no bodies.
    private let hasWarned = Atomic(false)

    /// Creates a group committer that commits only while `run()` runs.
    ///
    /// - Parameter ticker: Ends commits that take too long.
    init(
        configuration: Configuration = Configuration(),
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        ticker: Ticker = .shared,
        receive: @escaping Receive
    ) {
        self.configuration = configuration
        self.receive = receive
        self.ticker = ticker
        self.logger = logger
        self.metrics = GroupCommitMetrics(factory: metrics)
        waiters = Mutex(GroupCommitWaiters(state: GroupCommitState(configuration: configuration)))
        backoff = Mutex(Backoff(base: configuration.probeDelay.lowerBound, cap: configuration.probeDelay.upperBound))
    }

    /// Stores a body. Calls `completion` once, on any thread, with the event id after the commit, or with the failure.
    package func submit(_ body: [UInt8], source: String, completion: @escaping Completion) {
        let id = latestID.add(1, ordering: .relaxed).newValue
        update { waiters, now in
            waiters.completions[id] = completion
            do throws(GroupCommitError) {
                try waiters.state.submit(GroupCommitState.Submission(id: id, body: body, source: source, submittedAt: now))
            } catch {
                waiters.answer(id, .failure(error))
            }
        }
    }

    /// Stores a body and returns its event id after the commit. Cancellation does not end the wait.
    package func submit(_ body: [UInt8], source: String) async throws(GroupCommitError) -> Int64 {
        let result = await withCheckedContinuation { waiter in
            submit(body, source: source) { waiter.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Returns when a recent commit or a probe shows that the database accepts bodies.
    ///
    /// - Throws: `GroupCommitError` when the database does not accept bodies.
    package func checkReadiness() async throws {
        try await withCheckedThrowingContinuation { check in
            update { waiters, now in
                waiters.readinessChecks.append(check)
                if let known = waiters.state.readiness(now: now) { waiters.answerReadiness(known.mapError { $0 }) }
            }
        }
    }

    /// True when a batch has been in flight for longer than every timeout allows: the process must be restarted.
    package var isStuck: Bool {
        waiters.withLock { $0.state.isStuck(now: clock.now) }
    }

    /// The accepted bodies that are not committed yet.
    package struct Backlog: Hashable, Sendable {
        /// Bodies waiting for a batch.
        package let events: Int
        /// Bytes of the bodies waiting for a batch.
        package let bytes: Int
        /// Batches being committed.
        package let batchesInFlight: Int
    }

    /// The accepted bodies that are not committed yet.
    package var backlog: Backlog {
        waiters.withLock { waiters in
            let state = waiters.state
            return Backlog(events: state.waiting.count, bytes: state.waitingBytes, batchesInFlight: state.inFlight.count)
        }
    }

    /// The number of readiness checks that wait for a probe.
    var waitingReadinessChecks: Int { waiters.withLock { $0.readinessChecks.count } }

    /// True when new bodies are refused because of shutdown.
    var isDraining: Bool { waiters.withLock { $0.state.isDraining } }

    /// Changes the state under the lock, then resumes the affected waiters.
    private func update(_ change: (inout GroupCommitWaiters, ContinuousClock.Instant) -> Void) {
        let now = clock.now
        let wakeups = waiters.withLock { waiters in
            change(&waiters, now)
            return waiters.takeWakeups(now: now)
        }
        for wakeup in wakeups { wakeup.deliver() }
    }

    /// When to probe the database after a failure.
    private func nextProbe() -> ContinuousClock.Instant {
        var generator = SystemRandomNumberGenerator()
        return clock.now + backoff.withLock { $0.next(using: &generator) }
    }

    /// Resets the back-off after a successful commit.
    private func resetProbeDelay() {
        backoff.withLock { $0.reset() }
    }
}

extension GroupCommitter {
    /// The limits of a group committer.
    package struct Configuration: Sendable {
        /// The most bodies in one batch.
        package var maximumBatchEvents = 64
        /// The most bytes of bodies in one batch. A larger body gets its own batch.
        package var maximumBatchBytes = 2 * 1024 * 1024
        /// The longest that a body waits for further bodies while another batch is being committed.
        package var linger: Duration = .milliseconds(2)
        /// The most batches in flight, each on its own connection.
        package var maximumBatchesInFlight = 2
        /// The most bodies that wait for a batch.
        package var maximumWaitingEvents = 1024
        /// The most bytes of bodies that wait for a batch.
        package var maximumWaitingBytes = 16 * 1024 * 1024
        /// The timeout of one batch, including the wait for a connection.
        package var commitTimeout: Duration = .seconds(10)
        /// The timeout of a probe.
        package var probeTimeout: Duration = .seconds(2)
        /// How long a commit or probe counts as proof that the database accepts bodies.
        package var readinessFreshness: Duration = .seconds(1)
        /// The first and the longest delay between two probes while the database is not available; each is jittered.
        package var probeDelay: ClosedRange<Duration> = .milliseconds(100) ... .seconds(5)

        package init() {}
    }
}

extension GroupCommitter {
    /// Creates a group committer that stores bodies with `appstore.receive` on connections of a pool.
    ///
    /// The pool needs a connection for each batch in flight and one for the probe.
    package convenience init(
        pool: ConnectionPool,
        configuration: Configuration = Configuration(),
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory
    ) {
        self.init(configuration: configuration, logger: logger, metrics: metrics) { bodies, source in
            let statement = Statement.receive(bodies: bodies, source: source)
            let rows = try await pool.withTransaction { transaction in
                if bodies.isEmpty, pool.slots.unanswered > 0 {
                    // The probe would wait for the same standby, and its backend stays when the client has gone: soon there would be too many.
                    guard try await transaction.query(.findUnansweredCommits()).isEmpty else { throw GroupCommitError(.timedOut) }
                }
                return try await transaction.query(statement)
            }
            return try rows.map { row in try row.decode(0) }
        }
    }
}

extension GroupCommitter {
    /// Commits batches until graceful shutdown. Bodies accepted by then are still committed.
    package func run() async throws {
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await self.runTimer() }
                    group.addTask { try await self.runProber() }
                    await self.runCommitters()
                    group.cancelAll()
                }
            } onGracefulShutdown: {
                self.update { waiters, _ in waiters.state.drain() }
            }
        } onCancel: {
            update { waiters, _ in
                waiters.state.drain()
                for id in waiters.state.failWaiting() { waiters.answer(id, .failure(GroupCommitError(.shuttingDown))) }
            }
        }
    }

    private func runCommitters() async {
        await withDiscardingTaskGroup { committers in
            for _ in 0..<configuration.maximumBatchesInFlight { committers.addTask { await self.runCommitter() } }
        }
    }

    private func runCommitter() async {
        while let batch = await nextBatch() { await commit(batch) }
    }

    private func nextBatch() async -> GroupCommitState.Batch? {
        await withCheckedContinuation { committer in
            update { waiters, _ in waiters.idleCommitters.append(committer) }
        }
    }

    private func runTimer() async throws {
        while let due = await nextLinger() {
            try await Task.sleep(until: due, tolerance: .zero, clock: .continuous)
        }
    }

    private func nextLinger() async -> ContinuousClock.Instant? {
        await withCheckedContinuation { timer in
            update { waiters, _ in waiters.idleTimer = timer }
        }
    }

    private func runProber() async throws {
        while let due = await nextProbeDue() {
            try await Task.sleep(until: due, clock: .continuous)
            await probe()
        }
    }

    private func nextProbeDue() async -> ContinuousClock.Instant? {
        await withCheckedContinuation { prober in
            update { waiters, _ in waiters.idleProber = prober }
        }
    }
}

extension GroupCommitter {
    /// A known source: the database refuses an unknown one even without bodies.
    private static let probeSource = "notification_v2"

    /// Stores a batch and completes its submissions.
    private func commit(_ batch: GroupCommitState.Batch) async {
        do {
            let ids = try await metrics.measureCommit(events: batch.submissions.count) {
                try await store(batch.submissions.map(\.body), source: batch.source, timeout: configuration.commitTimeout)
            }
            resetProbeDelay()
            confirm(batch, ids)
        } catch {
            refuse(batch, error)
        }
    }

    /// Probes the database with an empty batch.
    ///
    /// Only a commit, which proves that bodies can be stored, resets the delay between probes.
    private func probe() async {
        do {
            _ = try await store([], source: Self.probeSource, timeout: configuration.probeTimeout)
            var recovered = false
            update { waiters, now in
                if case .unavailable = waiters.state.phase { recovered = true }
                waiters.state.databaseAnswered(now: now)
                waiters.answerReadiness(.success(()))
            }
            if recovered, hasWarned.exchange(false, ordering: .relaxed) { logger.notice("the database accepts notifications again") }
        } catch {
            let failure = GroupCommitError(.unavailable, cause: error)
            databaseFailed(failure) { waiters, probeAt in
                waiters.answerReadiness(.failure(failure))
                return waiters.state.databaseFailed(probeAt: probeAt)
            }
        }
    }

    private func confirm(_ batch: GroupCommitState.Batch, _ ids: [Int64]) {
        update { waiters, now in
            waiters.state.batchCommitted(batch, now: now)
            for (submission, id) in zip(batch.submissions, ids) { waiters.answer(submission.id, .success(id)) }
        }
    }

    private func refuse(_ batch: GroupCommitState.Batch, _ error: any Error) {
        let failure = GroupCommitError(.notCommitted, cause: error)
        logger.log(
            level: error.isDatabaseUnreachable ? .debug : .warning,
            "batch not committed",
            metadata: ["batch.events": "\(batch.submissions.count)", "error": "\(error)"]
        )
        let answerBatch: (inout GroupCommitWaiters) -> Void = { waiters in
            for submission in batch.submissions { waiters.answer(submission.id, .failure(failure)) }
        }
        if let error = error as? PostgresError, error.isSerializationConflict {
            update { waiters, _ in
                answerBatch(&waiters)
                _ = waiters.state.batchFailed(batch, probeAt: nil)
            }
        } else {
            databaseFailed(failure) { waiters, probeAt in
                answerBatch(&waiters)
                return waiters.state.batchFailed(batch, probeAt: probeAt)
            }
        }
    }

    private func databaseFailed(_ failure: GroupCommitError, _ change: (inout GroupCommitWaiters, ContinuousClock.Instant) -> [UInt64]) {
        let probeAt = nextProbe()
        var wasOpen = false
        update { waiters, _ in
            if case .open = waiters.state.phase { wasOpen = true }
            let unavailable = GroupCommitError(.unavailable, cause: failure.cause)
            for id in change(&waiters, probeAt) { waiters.answer(id, .failure(unavailable)) }
        }
        guard wasOpen else { return }
        let isReported = failure.cause?.isDatabaseOutage == true
        if !isReported { hasWarned.store(true, ordering: .relaxed) }
        logger.log(level: isReported ? .debug : .warning, "the database accepts no notifications", metadata: ["error": "\(failure)"])
    }

    /// Stores bodies within a time limit.
    ///
    /// - Throws: also when the database did not return one event id for each body: a body is then not stored.
    private func store(_ bodies: [[UInt8]], source: String, timeout: Duration) async throws -> [Int64] {
        let ids = try await withThrowingTaskGroup(of: [Int64].self) { [receive, ticker] group in
            group.addTask { try await receive(bodies, source) }
            group.addTask {
                try await ticker.sleep(for: timeout)
                throw GroupCommitError(.timedOut)
            }
            defer { group.cancelAll() }
            for try await ids in group { return ids }
            throw CancellationError()
        }
        guard ids.count == bodies.count else { throw GroupCommitError(.incomplete) }
        return ids
    }
}

/// The state of a group committer, and the continuations of the tasks that wait for it.
private struct GroupCommitWaiters {
    typealias Instant = ContinuousClock.Instant

    /// A waiter and its result, delivered after the lock is released.
    enum Wakeup {
        case committer(CheckedContinuation<GroupCommitState.Batch?, Never>, GroupCommitState.Batch?)
        case timer(CheckedContinuation<Instant?, Never>, Instant?)
        case completion(GroupCommitter.Completion, Result<Int64, GroupCommitError>)
        case readiness(CheckedContinuation<Void, any Error>, Result<Void, any Error>)

        func deliver() {
            switch self {
            case .committer(let continuation, let batch): continuation.resume(returning: batch)
            case .timer(let continuation, let instant): continuation.resume(returning: instant)
            case .completion(let completion, let result): completion(result)
            case .readiness(let continuation, let result): continuation.resume(with: result)
            }
        }
    }

    var state: GroupCommitState
    /// Committers without a batch.
    var idleCommitters: [CheckedContinuation<GroupCommitState.Batch?, Never>] = []
    /// The linger timer, while it has no deadline.
    var idleTimer: CheckedContinuation<Instant?, Never>?
    /// The prober, while no probe is due.
    var idleProber: CheckedContinuation<Instant?, Never>?
    /// The completions of submissions that are waiting or in flight.
    var completions: [UInt64: GroupCommitter.Completion] = [:]
    /// The readiness checks that wait for a probe.
    var readinessChecks: [CheckedContinuation<Void, any Error>] = []
    var wakeups: [Wakeup] = []

    /// Completes a submission.
    mutating func answer(_ id: UInt64, _ result: Result<Int64, GroupCommitError>) {
        guard let completion = completions.removeValue(forKey: id) else { return }
        wakeups.append(.completion(completion, result))
    }

    /// Completes all waiting readiness checks.
    mutating func answerReadiness(_ result: Result<Void, any Error>) {
        wakeups += readinessChecks.map { .readiness($0, result) }
        readinessChecks.removeAll()
    }

    /// Gives due work to idle tasks and returns the continuations to resume.
    mutating func takeWakeups(now: Instant) -> [Wakeup] {
        startBatches(now: now)
        startProbe(now: now)
        if state.isFinished { finish() }
        defer { wakeups.removeAll() }
        return wakeups
    }

    private mutating func startBatches(now: Instant) {
        while let committer = idleCommitters.last {
            switch state.dispatch(now: now) {
            case .nothing:
                return
            case .send(let batch):
                idleCommitters.removeLast()
                wakeups.append(.committer(committer, batch))
            case .linger(let due):
                guard let timer = idleTimer else { return }
                idleTimer = nil
                wakeups.append(.timer(timer, due))
                return
            }
        }
    }

    private mutating func startProbe(now: Instant) {
        guard let prober = idleProber else { return }
        switch state.phase {
        case .unavailable(let probeAt): wakeups.append(.timer(prober, probeAt))
        case .open where !readinessChecks.isEmpty: wakeups.append(.timer(prober, now))
        case .open, .draining: return
        }
        idleProber = nil
    }

    private mutating func finish() {
        wakeups += idleCommitters.map { .committer($0, nil) }
        wakeups += [idleTimer, idleProber].compactMap(\.self).map { .timer($0, nil) }
        idleCommitters.removeAll()
        idleTimer = nil
        idleProber = nil
        answerReadiness(.failure(GroupCommitError(.shuttingDown)))
    }
}

/// The metrics of a group committer.
private struct GroupCommitMetrics: Sendable {
    private let batchEvents: Recorder
    private let committed: Timer
    private let failed: Counter

    init(factory: any MetricsFactory) {
        batchEvents = Recorder(label: "appstore_inbox_ingest_batch_events", factory: factory)
        committed = Timer(label: "appstore_inbox_ingest_commit_seconds", factory: factory)
        failed = Counter(label: "appstore_inbox_ingest_commit_failures_total", factory: factory)
    }

    /// Measures a commit: its size and time, or its failure.
    func measureCommit<Value>(events: Int, _ commit: () async throws -> Value) async throws -> Value {
        let clock = ContinuousClock()
        let start = clock.now
        do {
            let value = try await commit()
            committed.record(duration: clock.now - start)
            batchEvents.record(events)
            return value
        } catch {
            failed.increment()
            throw error
        }
    }
}
