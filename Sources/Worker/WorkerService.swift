package import Inbox
package import Logging
import Postgres
import ServiceLifecycle

/// The worker's loops: each takes one batch after the other on a connection of its own, as many of them at a time as get along (``Rota``).
/// Beside them, somebody looks for batches of processes that died.
///
/// Run as many services as you like; they share nothing but PostgreSQL.
package struct WorkerService: Service {
    /// How the loops run.
    package struct Configuration: Sendable {
        /// Batches in flight, at least 1.
        package var concurrency: Int
        /// How long the loop that polls rests at first, and at most, while nothing is due; see ``PollPause``.
        package var minimumRest: Duration = .milliseconds(5)
        package var maximumRest: Duration = .milliseconds(250)
        /// A batch with fewer events than this is small: the loop that took it pauses before its next claim, so that events which arrive
        /// one by one share a batch. Most of what a small batch costs is the same for a larger one.
        package var smallBatch = 8
        /// The bounds of that pause; it is random.
        package var smallBatchPause: ClosedRange<Duration> = .milliseconds(5) ... .milliseconds(8)
        /// After how long without another batch the loop that stands by looks for events beside the one that is at work. Longer than a small
        /// batch and its pause.
        package var helpDelay: Duration = .milliseconds(25)
        /// How long the others sleep at most: each has to show now and then that it is alive.
        package var maximumSleep: Duration = .seconds(5)
        /// How often to look for lost batches.
        package var lookPause: Duration = .seconds(1)

        package init(concurrency: Int) {
            self.concurrency = concurrency
        }

        /// How long to wait for the next look for lost batches. A snapshot that is held for long makes a look slow; it is not to cost more than
        /// a hundredth of a core, but neither is anybody to wait for long for the next one. One that failed has only waited.
        func rest(afterLookOf duration: Duration, hasFailed: Bool) -> Duration {
            hasFailed ? lookPause : max(lookPause, min(duration * 100, .seconds(5)))
        }
    }

    private let queue: InboxQueue<EventProcessor.Prepared>
    private let configuration: Configuration
    private let heartbeat: Heartbeat
    private let logger: Logger
    private let rota = Rota()

    /// How the loops show that they go round.
    package struct Heartbeat: Sendable {
        let beat: @Sendable (_ loop: Int) -> Void
        let finish: @Sendable (_ loop: Int) -> Void

        /// - Parameters:
        ///   - beat: called by each loop, counted from 0, each time it comes round, also while the database is away.
        ///   - finish: called when a loop has ended as it should.
        package init(beat: @escaping @Sendable (Int) -> Void, finish: @escaping @Sendable (Int) -> Void) {
            self.beat = beat
            self.finish = finish
        }
    }

    package init(
        queue: InboxQueue<EventProcessor.Prepared>,
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
        // First of all: the process before this one may have died of an event that would be the next one's death, too.
        await look(isFirst: true, &failures)
        await withTaskGroup { [failures] group in
            group.addTask { await lookout(failures) }
            for index in 0..<configuration.concurrency {
                group.addTask { await loop(index) }
            }
        }
        // Only this process can say that batches which it lost while it ran are no event's fault.
        failures = 0
        await look(&failures)
    }

    /// The delays of one loop.
    private struct Delays {
        var rest: PollPause
        var outage = Backoff(base: .milliseconds(100), cap: .seconds(5))
        var failures = 0
    }

    private func loop(_ index: Int) async {
        defer { heartbeat.finish(index) }
        var delays = Delays(rest: PollPause(minimum: configuration.minimumRest, maximum: configuration.maximumRest))
        var turn = RotaTurn.look
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            heartbeat.beat(index)
            switch turn {
            case .look:
                turn = await attempt(index, &delays) { delays in try await takeBatch(index, &delays) }
            case .poll:
                var generator = SystemRandomNumberGenerator()
                await pauseBriefly(for: delays.rest.next(using: &generator))
                turn = await poll(index, &delays)
            case .standBy:
                turn = await cancelWhenGracefulShutdown { await rota.standBy(index, for: configuration.helpDelay) }
            case .sleep:
                delays.rest.reset()
                turn = await cancelWhenGracefulShutdown { await rota.sleep(index, atMost: configuration.maximumSleep) }
                // It may have been woken because its time to sleep was over.
                if case .look = turn { turn = await poll(index, &delays) }
            }
        }
    }

    private func takeBatch(_ index: Int, _ delays: inout Delays) async throws -> RotaTurn {
        let report = try await queue.takeBatch { rota.took(index, isFull: $0) }
        if delays.failures > 0 {
            logger.notice("batches are committed again", metadata: ["worker.failures": "\(delays.failures)"])
        }
        delays.failures = 0
        delays.outage.reset()
        guard report.events > 0 else { return rota.foundNothing(index) }
        delays.rest.reset()
        logger.debug("batch settled", metadata: ["batch.events": "\(report.events)", "batch.retries": "\(report.retries)"])
        let turn = rota.settled(index, isFull: report.isFull)
        if case .look = turn, !report.isFull, report.events < configuration.smallBatch { await pauseAfterSmallBatch() }
        return turn
    }

    /// Looks whether an event is due before it is claimed, which costs the database a fraction of a claim.
    private func poll(_ index: Int, _ delays: inout Delays) async -> RotaTurn {
        await attempt(index, &delays) { _ in try await queue.hasDueEvents() ? .look : rota.foundNothing(index) }
    }

    private func pauseAfterSmallBatch() async {
        let bounds = configuration.smallBatchPause
        await pauseBriefly(for: bounds.lowerBound + (bounds.upperBound - bounds.lowerBound) * Double.random(in: 0...1))
    }

    /// Asks the database for events; backs off when it cannot be asked, or has not committed.
    private func attempt(
        _ index: Int,
        _ delays: inout Delays,
        _ ask: (inout Delays) async throws -> RotaTurn
    ) async -> RotaTurn {
        do {
            return try await ask(&delays)
        } catch {
            rota.failed(index)
            if error is CancellationError, Task.isCancelled { return .look }
            delays.failures += 1
            // Said once, not at each attempt of an outage.
            logger.log(
                level: delays.failures == 1 ? .warning : .debug,
                "batch was not committed, its events stay in the inbox",
                metadata: ["error": "\(error)", "worker.loop": "\(index)"]
            )
            await pause(&delays.outage)
            return .look
        }
    }

    private func lookout(_ earlierFailures: Int) async {
        var failures = earlierFailures
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            let start = ContinuousClock.now
            await look(&failures)
            let rest = configuration.rest(afterLookOf: .now - start, hasFailed: failures > 0)
            await pause(for: rest * Double.random(in: 0.8...1.2))
        }
    }

    private func look(isFirst: Bool = false, _ failures: inout Int) async {
        do {
            _ = try await queue.lookForLostBatches(isFirst: isFirst)
            if failures > 0 { logger.notice("lost batches are looked for again", metadata: ["worker.failures": "\(failures)"]) }
            failures = 0
        } catch is CancellationError where Task.isCancelled {
            return
        } catch {
            failures += 1
            // Said once, not at each attempt of an outage.
            logger.log(
                level: failures == 1 ? .warning : .debug,
                "lost batches could not be looked for",
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
