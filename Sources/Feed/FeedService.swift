package import Logging
package import Postgres
import ServiceLifecycle
package import Systemd

/// Numbers what changed in the ledger, step by step, while the feed is on. See `appstore.sequence_feed`.
///
/// Any number of workers may run it: a lock in PostgreSQL lets one of them take a step at a time, and a step that is interrupted has done
/// nothing.
package struct FeedService: Service {
    /// The rest while the feed is off.
    private static let restWhileOff: Duration = .seconds(2)

    private let pool: ConnectionPool
    private let logger: Logger
    private let heartbeat: @Sendable () -> LoopHeartbeat

    /// - Parameter heartbeat: begins the heartbeat of the loop, which beats each time that the loop goes round.
    package init(pool: ConnectionPool, logger: Logger, heartbeat: @escaping @Sendable () -> LoopHeartbeat = { .none }) {
        self.pool = pool
        self.logger = logger
        self.heartbeat = heartbeat
    }

    /// Runs until graceful shutdown, then ends after the step in flight.
    package func run() async throws {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        var delays = Delays()
        while !Task.isEnding {
            heartbeat.beat()
            await Task.rest(for: await step(&delays))
        }
    }

    /// What the loop remembers.
    private struct Delays {
        /// The rests after steps that told nothing. A quarter of each is random, so that workers do not ask together.
        var rest = Backoff(base: .milliseconds(10), cap: .milliseconds(100), jitter: 0.25)
        var outage = Backoff(base: .milliseconds(100), cap: .seconds(5))
        var most = FeedStep.most
        /// The loudest report of failures since something was told.
        var reported: Logger.Level = .debug
    }

    /// Takes a step, and returns how long to rest.
    private func step(_ delays: inout Delays) async -> Duration {
        var generator = SystemRandomNumberGenerator()
        do {
            let most = delays.most
            let step = try await pool.withConnection { try await FeedStep.take(upTo: most, on: $0) }
            delays.outage.reset()
            guard step.isOn else { return Self.restWhileOff }
            if step.told > 0 {
                if delays.reported > .debug { logger.notice("the feed goes on") }
                logger.debug("feed step", metadata: ["feed.told": "\(step.told)"])
                delays.reported = .debug
                delays.rest.reset()
                delays.most = min(delays.most * 2, FeedStep.most)
            }
            return step.hasMore ? .zero : delays.rest.next(using: &generator)
        } catch is CancellationError where Task.isCancelled {
            return .zero
        } catch {
            return failed(error, &delays)
        }
    }

    /// Reports the failure of a step, and makes the next step half as large: one change that cannot be told holds up only what comes after it.
    private func failed(_ error: any Error, _ delays: inout Delays) -> Duration {
        var generator = SystemRandomNumberGenerator()
        // The pool reports an outage. Each other level is reported once.
        let level: Logger.Level = error.isDatabaseOutage ? .debug : delays.most == 1 ? .error : .warning
        logger.log(
            level: level > delays.reported ? level : .debug,
            level == .error ? "the next change cannot be told: the feed stands still" : "feed step failed and will be tried again",
            metadata: ["error": "\(error)", "feed.most": "\(delays.most)"]
        )
        delays.reported = max(delays.reported, level)
        guard level == .warning else { return delays.outage.next(using: &generator) }
        delays.most /= 2
        return delays.rest.next(using: &generator)
    }
}
