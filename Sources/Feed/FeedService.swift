package import Logging
package import Postgres
import SQL
import ServiceLifecycle
package import ServiceSupport

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

/// What a step of the sequencer did.
package struct FeedStep: Sendable, Hashable {
    /// Whether the feed is on.
    package let isOn: Bool
    /// How many entries got a position. 0 also while another session takes a step.
    package let told: Int
    /// Whether more was committed than a step takes.
    package let hasMore: Bool

    /// How many changes a step takes at most.
    package static let most = 2000

    /// Takes a step, in a transaction of its own.
    package static func take(upTo most: Int = most, on connection: Connection) async throws -> FeedStep {
        let rows = try await connection.query(.sequenceFeed(maxTells: Int32(most)))
        guard let row = rows.first else { return FeedStep(isOn: false, told: 0, hasMore: false) }
        return FeedStep(
            isOn: try row.decode("is_on"),
            told: Int(try row.decode("told", as: Int64.self)),
            hasMore: try row.decode("has_more")
        )
    }
}

/// The types of entries. `appstore.feed_types` has the same list.
package enum FeedType {
    package static let all = [
        "effect.granted", "effect.refunded", "effect.revoked", "effect.refund_declined", "effect.refund_reversed", "effect.will_renew",
        "effect.will_not_renew", "effect.plan_changed", "effect.offer_redeemed", "effect.billing_retry_started",
        "effect.grace_period_started", "effect.grace_period_ended", "effect.expired", "effect.extended", "effect.consent_asked",
        "effect.consent_given", "effect.consumption_asked", "effect.status_found", "effect.seats_refunded",
        "effect.seats_unclaimed", "effect.seats_changed", "effect.consent_rescinded", "effect.external_purchase_token",
        "effect.price_changed", "effect.metadata_updated", "effect.migrated", "effect.extension_completed",
        "effect.extension_failed", "access.changed", "owner.changed", "order.paid", "order.refunded",
        "user.forgotten", "test", "endpoint.disabled", "inbox.failed", "notification.received", "notification.rejected",
    ]

    /// What a reader may ask for: the types, and the patterns such as `effect.*` that stand for all that begin so.
    package static let words = all + Set(all.filter { $0.contains(".") }.map { "\($0.prefix { $0 != "." }).*" }).sorted()
}
