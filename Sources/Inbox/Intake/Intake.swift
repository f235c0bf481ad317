package import Logging
package import Metrics
import ServiceLifecycle
import Synchronization

import struct Postgres.Backoff

/// The door of the inbox: bodies that arrive at about the same time share one commit, and each sender hears about it after that commit.
///
/// Nothing is buffered for a database that is away: senders are refused at once until a probe has succeeded. Nothing is repeated either,
/// since the sender does that.
package final class Intake: Service {
    /// Stores bodies in one transaction and answers the event id of each, in the order of the bodies.
    package typealias Receive = @Sendable (_ bodies: [[UInt8]], _ source: String) async throws -> [Int64]

    /// Hears what became of a body.
    package typealias Sender = @Sendable (Result<Int64, IntakeError>) -> Void

    let configuration: Configuration
    let receive: Receive
    let logger: Logger
    let metrics: IntakeMetrics
    private let clock = ContinuousClock()
    private let mailbox: Mutex<IntakeMailbox>
    private let backoff: Mutex<Backoff>
    private let latestID = Atomic<UInt64>(0)

    /// Creates an intake that commits only while `run()` runs.
    package init(
        configuration: Configuration = Configuration(),
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        receive: @escaping Receive
    ) {
        self.configuration = configuration
        self.receive = receive
        self.logger = logger
        self.metrics = IntakeMetrics(factory: metrics)
        mailbox = Mutex(IntakeMailbox(state: IntakeState(configuration: configuration)))
        backoff = Mutex(Backoff(base: configuration.probeDelay.lowerBound, cap: configuration.probeDelay.upperBound))
    }

    /// Stores a body and tells `sender`, once and on any thread, its event id after the commit or why it was not accepted.
    package func submit(_ body: [UInt8], source: String, sender: @escaping Sender) {
        let id = latestID.add(1, ordering: .relaxed).newValue
        update { mailbox, now in
            mailbox.senders[id] = sender
            do throws(IntakeError) {
                try mailbox.state.submit(IntakeState.Submission(id: id, body: body, source: source, submittedAt: now))
            } catch {
                mailbox.answer(id, .failure(error))
            }
        }
    }

    /// Stores a body and returns its event id after the commit, which it waits for also when it is cancelled.
    package func submit(_ body: [UInt8], source: String) async throws(IntakeError) -> Int64 {
        let result = await withCheckedContinuation { waiter in
            submit(body, source: source) { waiter.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Returns when the database takes bodies, which a recent commit or else a probe shows.
    ///
    /// - Throws: `IntakeError` when it does not.
    package func checkReadiness() async throws {
        try await withCheckedThrowingContinuation { reader in
            update { mailbox, now in
                mailbox.readers.append(reader)
                if let known = mailbox.state.readiness(now: now) { mailbox.answerReaders(known.mapError { $0 }) }
            }
        }
    }

    /// True when a batch has been in flight for longer than any time-out allows, so that only a new process helps.
    package var isStuck: Bool {
        mailbox.withLock { $0.state.isStuck(now: clock.now) }
    }

    /// What has been taken and is not committed yet.
    package struct Backlog: Hashable, Sendable {
        /// Bodies that wait for a batch.
        package let events: Int
        /// Their bytes.
        package let bytes: Int
        /// Batches that are being committed.
        package let batchesInFlight: Int
    }

    /// What has been taken and is not committed yet.
    package var backlog: Backlog {
        mailbox.withLock { mailbox in
            let state = mailbox.state
            return Backlog(events: state.waiting.count, bytes: state.waitingBytes, batchesInFlight: state.inFlight.count)
        }
    }

    /// How many tasks wait to hear whether the database takes bodies.
    var waitingReaders: Int { mailbox.withLock { $0.readers.count } }

    /// True when nothing new is taken.
    var isDraining: Bool { mailbox.withLock { $0.state.isDraining } }

    /// Changes the state under the lock and wakes whom that concerns.
    func update(_ change: (inout IntakeMailbox, ContinuousClock.Instant) -> Void) {
        let now = clock.now
        let wakeups = mailbox.withLock { mailbox in
            change(&mailbox, now)
            return mailbox.takeWakeups(now: now)
        }
        for wakeup in wakeups { wakeup.deliver() }
    }

    /// When to look again at a database that did not answer.
    func nextProbe() -> ContinuousClock.Instant {
        var generator = SystemRandomNumberGenerator()
        return clock.now + backoff.withLock { $0.next(using: &generator) }
    }

    /// Forgets past failures: the database has stored something.
    func resetProbeDelay() {
        backoff.withLock { $0.reset() }
    }
}
