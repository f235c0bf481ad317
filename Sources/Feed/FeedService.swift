package import Logging
package import Postgres
import ServiceLifecycle
package import Systemd

/// Numbers what changed in the ledger, step by step, while the feed is on. See `appstore.sequence_feed`.
///
/// Any number of workers may run it: a lock in PostgreSQL lets one of them take a step at a time, and a step that is interrupted has done
/// nothing.
package struct FeedService: Service {
    /// How often the database is asked.
    package struct Configuration: Sendable {
        /// The rests after steps that told nothing. A quarter of each is random, so that workers do not ask together.
        package var rest = Backoff(base: .milliseconds(10), cap: .milliseconds(100), jitter: 0.25)
        /// The rest while the feed is off.
        package var restWhileOff: Duration = .seconds(2)

        package init() {}
    }

    private let pool: ConnectionPool
    private let configuration: Configuration
    private let logger: Logger
    private let heartbeat: @Sendable () -> LoopHeartbeat

    /// - Parameter heartbeat: begins the heartbeat of the loop, which beats each time that the loop goes round.
    package init(
        pool: ConnectionPool,
        configuration: Configuration = Configuration(),
        logger: Logger,
        heartbeat: @escaping @Sendable () -> LoopHeartbeat = { .none }
    ) {
        self.pool = pool
        self.configuration = configuration
        self.logger = logger
        self.heartbeat = heartbeat
    }

    /// Runs until graceful shutdown, then ends after the step in flight.
    package func run() async throws {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        var delays = Delays(rest: configuration.rest)
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            heartbeat.beat()
            await Task.rest(for: await step(&delays))
        }
    }

    /// What the loop remembers.
    private struct Delays {
        var rest: Backoff
        var outage = Backoff(base: .milliseconds(100), cap: .seconds(5))
        var isFailing = false
        var most = FeedStep.most
    }

    /// Takes a step, and returns how long to rest.
    private func step(_ delays: inout Delays) async -> Duration {
        var generator = SystemRandomNumberGenerator()
        do {
            let most = delays.most
            let step = try await pool.withConnection { try await FeedStep.take(upTo: most, on: $0) }
            if delays.isFailing { logger.notice("the feed is numbered again") }
            delays.isFailing = false
            delays.outage.reset()
            guard step.isOn else { return configuration.restWhileOff }
            if step.told > 0 {
                logger.debug("feed step", metadata: ["feed.told": "\(step.told)"])
                delays.rest.reset()
                delays.most = min(delays.most * 2, FeedStep.most)
            }
            return step.hasMore ? .zero : delays.rest.next(using: &generator)
        } catch is CancellationError where Task.isCancelled {
            return .zero
        } catch {
            // Of an outage the pool tells. Otherwise the first failure is told, and that of the first change by itself.
            let isAlone = delays.most == 1
            let isNews = !error.isDatabaseOutage && (!delays.isFailing || isAlone)
            logger.log(
                level: isNews ? (isAlone ? .error : .warning) : .debug,
                isAlone
                    ? "the next change cannot be told, and the feed stands still" : "feed step failed and will be tried again with less",
                metadata: ["error": "\(error)", "feed.most": "\(delays.most)"]
            )
            if !error.isDatabaseOutage {
                delays.isFailing = true
                delays.most = max(1, delays.most / 2)
            }
            return delays.outage.next(using: &generator)
        }
    }
}
