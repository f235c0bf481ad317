package import Logging
package import Metrics
import ServiceLifecycle
import Synchronization

package import class Postgres.Ticker
package import struct Postgres.Backoff

/// Group commit for the inbox: bodies that arrive at about the same time share one transaction. Each submission completes after its commit.
///
/// While the database is unavailable, submissions are refused at once until a probe succeeds. The committer retries nothing: the client does.
package final class GroupCommitter: Service {
    /// Stores bodies in one transaction and returns their event ids in the same order.
    package typealias Receive = @Sendable (_ bodies: [[UInt8]], _ source: String) async throws -> [Int64]

    /// Receives the result of a submission.
    package typealias Completion = @Sendable (Result<Int64, GroupCommitError>) -> Void

    let configuration: Configuration
    let receive: Receive
    let logger: Logger
    let metrics: GroupCommitMetrics
    let ticker: Ticker
    private let clock = ContinuousClock()
    private let waiters: Mutex<GroupCommitWaiters>
    private let backoff: Mutex<Backoff>
    private let latestID = Atomic<UInt64>(0)
    /// Whether a warning says that the database accepts no bodies.
    let hasWarned = Atomic(false)

    /// Creates a group committer that commits only while `run()` runs.
    ///
    /// - Parameter ticker: Ends commits that take too long.
    package init(
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
    func update(_ change: (inout GroupCommitWaiters, ContinuousClock.Instant) -> Void) {
        let now = clock.now
        let wakeups = waiters.withLock { waiters in
            change(&waiters, now)
            return waiters.takeWakeups(now: now)
        }
        for wakeup in wakeups { wakeup.deliver() }
    }

    /// When to probe the database after a failure.
    func nextProbe() -> ContinuousClock.Instant {
        var generator = SystemRandomNumberGenerator()
        return clock.now + backoff.withLock { $0.next(using: &generator) }
    }

    /// Resets the back-off after a successful commit.
    func resetProbeDelay() {
        backoff.withLock { $0.reset() }
    }
}
