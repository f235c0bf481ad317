package import InboxQueue
package import Logging
import Postgres
import ServiceLifecycle

/// The worker's loops. Each takes batches on a connection of its own; how many do at a time, ``LeaderFollowers`` decides. Beside them one loop
/// looks for batches of processes that died, and runs isolated events one by one.
///
/// Run as many services as you like; they share nothing but PostgreSQL.
package struct WorkerService: Service {
    /// How the loops run.
    package struct Configuration: Sendable {
        /// Batches in flight, at least 1.
        package var concurrency: Int
        /// How long the leader rests at first, and at most, while nothing is due; see ``PollPause``.
        package var minimumRest: Duration = .milliseconds(5)
        package var maximumRest: Duration = .milliseconds(250)
        /// A batch with fewer events than this is small: the leader pauses before its next claim, so that events which arrive one by one share a
        /// batch. Most of what a small batch costs is the same for a larger one.
        package var smallBatch = 8
        /// The bounds of that pause; it is random.
        package var smallBatchPause: ClosedRange<Duration> = .milliseconds(5) ... .milliseconds(8)
        /// After how long a follower takes over from a leader whose batch is not settled. Longer than a small batch and its pause.
        package var helpDelay: Duration = .milliseconds(25)
        /// How often lost batches are looked for.
        package var recoveryPause: Duration = .seconds(1)

        package init(concurrency: Int) {
            self.concurrency = concurrency
        }

        /// The pause after a recovery that took so long. A snapshot that is held for long makes it slow; it is to cost at most a hundredth of a core,
        /// and lost batches are to be found within five seconds. One that failed has only waited.
        func rest(afterRecoveryOf duration: Duration, hasFailed: Bool) -> Duration {
            hasFailed ? recoveryPause : max(recoveryPause, min(duration * 100, .seconds(5)))
        }
    }

    private let queue: EventQueue<EventProcessor.Prepared>
    private let configuration: Configuration
    private let heartbeat: Heartbeat
    private let logger: Logger
    private let loops = LeaderFollowers()

    /// How the loops report that they go round.
    package struct Heartbeat: Sendable {
        let beat: @Sendable (_ loop: Int) -> Void
        let finish: @Sendable (_ loop: Int) -> Void

        /// - Parameters:
        ///   - beat: called by each loop, counted from 0, each time it goes round, also while the database is away.
        ///   - finish: called when a loop ends, or waits to become the leader: it need not beat until it has beaten again.
        package init(beat: @escaping @Sendable (Int) -> Void, finish: @escaping @Sendable (Int) -> Void) {
            self.beat = beat
            self.finish = finish
        }
    }

    package init(
        queue: EventQueue<EventProcessor.Prepared>,
        configuration: Configuration,
        logger: Logger,
        heartbeat: Heartbeat
    ) {
        self.queue = queue
        self.configuration = configuration
        self.heartbeat = heartbeat
        self.logger = logger
    }

    /// Runs until graceful shutdown, then ends after the batches in flight.
    package func run() async throws {
        var failures = 0
        // First of all: the process before this one may have died of an event that would kill this one, too.
        await recover(isFirst: true, &failures)
        await withTaskGroup { [failures] group in
            group.addTask { await recoveryLoop(failures) }
            for index in 0..<configuration.concurrency {
                group.addTask { await loop(index) }
            }
        }
        // Only this process can report that no event is the cause of the batches that it lost.
        failures = 0
        await recover(&failures)
    }

    /// What one loop remembers.
    private struct Delays {
        var rest: PollPause
        var outage = Backoff(base: .milliseconds(100), cap: .seconds(5))
        var failures = 0
        /// Whether the last claim of the loop found nothing.
        var isIdle = false
    }

    private func loop(_ index: Int) async {
        defer { heartbeat.finish(index) }
        var delays = Delays(rest: PollPause(minimum: configuration.minimumRest, maximum: configuration.maximumRest))
        while !isEnding {
            heartbeat.finish(index)
            guard let lead = await cancelWhenGracefulShutdown({ await loops.becomeLeader() }) else { continue }
            while lead.isHeld, !isEnding {
                heartbeat.beat(index)
                await step(index, lead, &delays)
            }
            lead.release()
        }
    }

    private var isEnding: Bool { Task.isShuttingDownGracefully || Task.isCancelled }

    /// Takes a batch, or rests while nothing is due. Backs off when the database cannot be asked, or has not committed.
    private func step(_ index: Int, _ lead: Lead, _ delays: inout Delays) async {
        do {
            if delays.isIdle {
                var generator = SystemRandomNumberGenerator()
                await pauseBriefly(for: delays.rest.next(using: &generator))
                // A poll costs the database a fraction of a claim, which may still find that another transaction holds what is due.
                guard try await queue.hasDueEvents() else { return }
            }
            let report = try await takeBatch(lead)
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
            delays.failures += 1
            // Once in an outage, not at each attempt.
            logger.log(
                level: delays.failures == 1 ? .warning : .debug,
                "batch was not committed, its events stay in the inbox",
                metadata: ["error": "\(error)", "worker.loop": "\(index)"]
            )
            await pause(&delays.outage)
        }
    }

    /// Takes a batch, and lets a follower lead if the batch is full or is not settled soon.
    private func takeBatch(_ lead: Lead) async throws -> BatchReport {
        lead.begin()
        return try await withThrowingTaskGroup(of: BatchReport?.self) { group in
            group.addTask { try await queue.takeBatch { lead.claimed(isFull: $0) } }
            group.addTask {
                do {
                    repeat { try await Task.sleep(for: configuration.helpDelay) } while !lead.hasClaimed
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

    private func recoveryLoop(_ earlierFailures: Int) async {
        var failures = earlierFailures
        while !isEnding {
            let start = ContinuousClock.now
            await recover(&failures)
            let rest = configuration.rest(afterRecoveryOf: .now - start, hasFailed: failures > 0)
            await pause(for: rest * Double.random(in: 0.8...1.2))
        }
    }

    /// Looks for lost batches, then runs isolated events that are due for about a second.
    private func recover(isFirst: Bool = false, _ failures: inout Int) async {
        do {
            let report = try await queue.recoverLostBatches(isFirst: isFirst)
            if failures > 0 { logger.notice("lost batches are looked for again", metadata: ["worker.failures": "\(failures)"]) }
            failures = 0
            let end = ContinuousClock.now + .seconds(1)
            while report.isolatedAreDue, !isFirst, !isEnding, .now < end, try await queue.takeIsolated() != nil {}
        } catch is CancellationError where Task.isCancelled {
            return
        } catch {
            failures += 1
            // Once in an outage, not at each attempt.
            logger.log(
                level: failures == 1 ? .warning : .debug,
                "lost batches could not be looked for, or an isolated event not be committed",
                metadata: ["error": "\(error)"]
            )
        }
    }

    /// Waits for the back-off's next delay, or until the service is to shut down.
    private func pause(_ backoff: inout Backoff) async {
        var generator = SystemRandomNumberGenerator()
        await pause(for: backoff.next(using: &generator))
    }

    /// Waits for a fraction of a second, also when the service is to shut down: to be woken by that costs several times as much as the wait.
    private func pauseBriefly(for delay: Duration) async {
        do {
            try await Task.sleep(for: delay)
        } catch {
            // Cut short by a cancellation, which the loop looks at next.
        }
    }

    private func pause(for delay: Duration) async {
        await cancelWhenGracefulShutdown {
            do {
                try await Task.sleep(for: delay)
            } catch {
                // Cut short by the shutdown, which the loop looks at next.
            }
        }
    }
}
