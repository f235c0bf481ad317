package import Logging
import Postgres
import ServiceLifecycle
package import ServiceSupport
import Synchronization

/// The worker's loops. Each takes batches on a connection of its own; how many do at a time, ``LeaderFollowers`` decides. Beside them one loop
/// looks for batches of processes that died, and runs isolated events one by one.
///
/// Run as many services as you like; they share nothing but PostgreSQL.
package struct WorkerService: Service {
    /// How the loops run.
    package struct Configuration: Sendable {
        /// Batches in flight, at least 1.
        package var concurrency: Int
        /// The leader's rests while nothing is due. A quarter of each is random: enough for workers not to poll together, with few polls.
        package var rest = Backoff(base: .milliseconds(5), cap: .milliseconds(250), jitter: 0.25)
        /// A batch with fewer events than this is small: the leader pauses before its next claim, so that events which arrive one by one share a
        /// batch. Most of what a small batch costs is the same for a larger one.
        package var smallBatch = 8
        /// The bounds of that pause; it is random.
        package var smallBatchPause: ClosedRange<Duration> = .milliseconds(5) ... .milliseconds(8)
        /// How often lost batches are looked for.
        package var recoveryPause: Duration = .seconds(1)

        /// After how long a follower takes over from a leader whose batch is not settled. Longer than a small batch and its pause.
        package var helpDelay: Duration = .milliseconds(25)

        package init(concurrency: Int) {
            self.concurrency = concurrency
        }

        /// The pause after a recovery that took so long. A snapshot that is held for long makes it slow; it is to cost at most a hundredth of a core,
        /// and lost batches are to be found within five seconds.
        func rest(afterRecoveryOf duration: Duration) -> Duration {
            max(recoveryPause, min(duration * 100, .seconds(5)))
        }
    }

    /// The same for a leader that has no answer about what is due: its connection may be dead.
    private static var longestClaim: Duration { .seconds(1) }

    private let queue: EventQueue<EventProcessor.Prepared>
    private let configuration: Configuration
    private let prepare: @Sendable () async -> Void
    private let heartbeat: @Sendable () -> LoopHeartbeat
    private let logger: Logger
    private let loops = LeaderFollowers()

    /// - Parameters:
    ///   - prepare: runs before the first event is taken.
    ///   - heartbeat: begins the heartbeat of a loop. It beats each time that the loop goes round, also while the database is away, and is
    ///     finished while the loop waits to become the leader.
    package init(
        queue: EventQueue<EventProcessor.Prepared>,
        configuration: Configuration,
        prepare: @escaping @Sendable () async -> Void = {},
        logger: Logger,
        heartbeat: @escaping @Sendable () -> LoopHeartbeat = { .none }
    ) {
        self.queue = queue
        self.configuration = configuration
        self.prepare = prepare
        self.heartbeat = heartbeat
        self.logger = logger
    }

    /// Runs until graceful shutdown, then ends after the batches in flight.
    package func run() async throws {
        await prepare()
        var recovery = Recovery()
        // First of all: the process before this one may have died of an event that would kill this one, too.
        // Where that fails for long, work is better than none.
        let end = ContinuousClock.now + .seconds(30)
        while recovery.isFirst, !Task.isEnding, .now < end {
            let pause = await recover(&recovery)
            if recovery.isFirst { await Task.rest(for: pause) }
        }
        await withTaskGroup { [recovery] group in
            group.addTask { await recoveryLoop(recovery) }
            for index in 0..<configuration.concurrency {
                group.addTask { await loop(index) }
            }
        }
        // Only this process can report that no event is the cause of the batches that it lost.
        recovery = Recovery(isFirst: false)
        _ = await recover(&recovery)
        queue.flushSummaries(all: true)
    }

    /// What one loop remembers.
    private struct Delays {
        var rest: Backoff
        var outage = Backoff(base: .milliseconds(100), cap: .seconds(5))
        var failures = 0
        /// Whether the last claim of the loop found nothing.
        var isIdle = false
    }

    private func loop(_ index: Int) async {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        var delays = Delays(rest: configuration.rest)
        while !Task.isEnding {
            heartbeat.finish()
            guard let lead = await cancelWhenGracefulShutdown({ await loops.becomeLeader() }) else { continue }
            while lead.isHeld, !Task.isEnding {
                heartbeat.beat()
                await step(index, lead, &delays)
            }
            lead.release()
        }
    }

    /// Takes a batch, or rests while nothing is due. Backs off when the database cannot be asked, or has not committed.
    private func step(_ index: Int, _ lead: Lead, _ delays: inout Delays) async {
        var generator = SystemRandomNumberGenerator()
        if delays.isIdle { await pauseBriefly(for: delays.rest.next(using: &generator)) }
        do {
            let report = try await takeBatch(lead, isIdle: delays.isIdle)
            if delays.failures > 0 {
                logger.notice("batches are committed again", metadata: ["worker.failures": "\(delays.failures)"])
            }
            delays.failures = 0
            delays.outage.reset()
            delays.isIdle = report.events == 0
            guard report.events > 0 else { return }
            delays.rest.reset()
            logger.debug("batch settled", metadata: ["batch.events": "\(report.events)", "batch.retries": "\(report.retries)"])
            if lead.isHeld, !report.isFull, report.events < configuration.smallBatch { await pauseAfterSmallBatch() }
        } catch {
            if error is CancellationError, Task.isCancelled { return }
            if !error.isDatabaseUnreachable { delays.failures += 1 }
            // The first failure only.
            logger.log(
                level: delays.failures == 1 && !error.isDatabaseUnreachable ? .warning : .debug,
                "batch was not committed, its events stay in the inbox",
                metadata: ["error": "\(error)", "worker.loop": "\(index)"]
            )
            await Task.rest(for: delays.outage.next(using: &generator))
        }
    }

    /// Takes a batch. Lets a follower lead if the batch is full or is not settled soon, or if nothing is known about what is due.
    ///
    /// - Parameter isIdle: polls first, which costs the database a fraction of a claim; the report is empty when nothing is due.
    private func takeBatch(_ lead: Lead, isIdle: Bool) async throws -> BatchReport {
        lead.begin()
        return try await withThrowingTaskGroup(of: BatchReport?.self) { group in
            group.addTask {
                // The claim may still find that another transaction holds what is due.
                if isIdle, try await !queue.hasDueEvents() { return BatchReport() }
                return try await queue.takeBatch { lead.claimed(isFull: $0) }
            }
            group.addTask {
                let end = ContinuousClock.now + Self.longestClaim
                do {
                    repeat { try await Task.sleep(for: configuration.helpDelay) } while !lead.hasClaimed && .now < end
                    lead.release()
                } catch {
                    // The batch is settled.
                }
                return nil
            }
            var report = BatchReport()
            while let ended = try await group.next() {
                guard let ended else { continue }
                report = ended
                group.cancelAll()
            }
            return report
        }
    }

    private func pauseAfterSmallBatch() async {
        let bounds = configuration.smallBatchPause
        await pauseBriefly(for: bounds.lowerBound + (bounds.upperBound - bounds.lowerBound) * Double.random(in: 0...1))
    }

    /// Waits for a fraction of a second, also when the service is to shut down: to be woken by that costs several times as much as the wait.
    private func pauseBriefly(for delay: Duration) async {
        do {
            try await Task.sleep(for: delay)
        } catch {
            // Cut short by a cancellation, which the loop looks at next.
        }
    }

    /// What the search for lost batches remembers.
    private struct Recovery {
        /// Whether lost batches have not been looked for yet.
        var isFirst = true
        var failures = 0
    }

    private func recoveryLoop(_ earlier: Recovery) async {
        var recovery = earlier
        while !Task.isEnding {
            let pause = await recover(&recovery)
            queue.flushSummaries()
            await Task.rest(for: pause * Double.random(in: 0.8...1.2))
        }
    }

    /// Looks for lost batches, then runs isolated events that are due for about a second. Returns the pause before the next time.
    private func recover(_ recovery: inout Recovery) async -> Duration {
        let start = ContinuousClock.now
        do {
            let report = try await queue.recoverLostBatches(isFirst: recovery.isFirst)
            if recovery.failures > 0 {
                logger.notice("lost batches are looked for again", metadata: ["worker.failures": "\(recovery.failures)"])
            }
            let pause = configuration.rest(afterRecoveryOf: .now - start)
            let wasFirst = recovery.isFirst
            recovery = Recovery(isFirst: false)
            guard report.isolatedAreDue, !wasFirst else { return pause }
            let end = ContinuousClock.now + .seconds(1)
            while !Task.isEnding, .now < end {
                guard try await queue.takeIsolated() != nil else { return pause }
            }
            // More of them may be due.
            return .zero
        } catch is CancellationError where Task.isCancelled {
            return .zero
        } catch {
            if !error.isDatabaseOutage { recovery.failures += 1 }
            // The first failure only.
            logger.log(
                level: recovery.failures == 1 && !error.isDatabaseOutage ? .warning : .debug,
                "lost batches could not be looked for, or an isolated event not be committed",
                metadata: ["error": "\(error)"]
            )
            // It has only waited.
            return configuration.recoveryPause
        }
    }
}

/// Decides which of a worker's loops takes events (the Leader/Followers pattern).
///
/// The leader polls and takes batches. It gives up the lead as soon as a claim says that more is waiting, or when a small batch takes long;
/// then a follower becomes the leader. So one loop works while batches are small, which costs the database least, and all do in a backlog.
final class LeaderFollowers: Sendable {
    private struct State {
        var isLed = false
        var followers: [(id: Int, waiter: CheckedContinuation<Bool, Never>)] = []
        var nextID = 0
    }

    private let state = Mutex(State())

    /// Waits until no other loop leads; nil when the task was cancelled meanwhile.
    func becomeLeader() async -> Lead? {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
        let leads = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let answer = state.withLock { state -> Bool? in
                    if Task.isCancelled { return false }
                    if state.isLed {
                        state.followers.append((id, waiter))
                        return nil
                    }
                    state.isLed = true
                    return true
                }
                if let answer { waiter.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.followers.firstIndex { $0.id == id }.map { state.followers.remove(at: $0).waiter }
            }
            waiter?.resume(returning: false)
        }
        return leads ? Lead(of: self) : nil
    }

    /// How many loops wait.
    var followers: Int { state.withLock(\.followers.count) }

    fileprivate func promoteFollower() {
        let next = state.withLock { state in
            state.isLed = !state.followers.isEmpty
            return state.followers.isEmpty ? nil : state.followers.removeFirst().waiter
        }
        next?.resume(returning: true)
    }
}

/// The right to take events. To be released once; every further release does nothing.
final class Lead: Sendable {
    private let loops: LeaderFollowers
    private let isReleased = Atomic(false)
    private let claimed = Atomic(false)

    fileprivate init(of loops: LeaderFollowers) {
        self.loops = loops
    }

    var isHeld: Bool { !isReleased.load(ordering: .acquiring) }

    /// Whether the leader has claimed a batch since its last ``begin()``.
    var hasClaimed: Bool { claimed.load(ordering: .acquiring) }

    /// The leader begins to take a batch.
    func begin() { claimed.store(false, ordering: .releasing) }

    /// The leader has claimed a batch. A full one says that more is waiting.
    func claimed(isFull: Bool) {
        claimed.store(true, ordering: .releasing)
        if isFull { release() }
    }

    func release() {
        if !isReleased.exchange(true, ordering: .acquiringAndReleasing) { loops.promoteFollower() }
    }
}
