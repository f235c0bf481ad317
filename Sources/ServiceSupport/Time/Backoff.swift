import ServiceLifecycle

/// Exponential back-off: each delay doubles the bound of the one before, up to a cap, and is partly random, so that what failed together is not
/// retried together.
package struct Backoff: Sendable {
    package var base: Duration
    package var cap: Duration
    /// The random share of each delay: 1 draws between zero and the bound, 0.5 between half of the bound and all of it.
    package var jitter: Double
    private var failures = 0

    package init(base: Duration, cap: Duration, jitter: Double = 1) {
        self.base = base
        self.cap = cap
        self.jitter = jitter
    }

    /// The delay before the next attempt.
    package mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        failures += 1
        return delay(afterFailures: failures, using: &generator)
    }

    /// Starts over, after a success.
    package mutating func reset() {
        failures = 0
    }

    /// The delay after that many failures in a row, at least 1.
    package func delay(afterFailures failures: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        // More doublings would overflow; none of the caps is so far away.
        let bound = min(base * (1 << min(max(failures - 1, 0), 40)), cap)
        return bound * Double.random(in: (1 - jitter)...1, using: &generator)
    }
}

extension Task where Success == Never, Failure == Never {
    /// Waits that long, or until graceful shutdown or cancellation, which the caller's loop checks for next.
    package static func rest(for duration: Duration) async {
        await cancelWhenGracefulShutdown {
            do {
                try await sleep(for: duration)
            } catch {
                // Cut short.
            }
        }
    }

    /// Whether a loop of this task is to end.
    package static var isEnding: Bool { isShuttingDownGracefully || isCancelled }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero: how timeouts and delays are sent to the server.
    package var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
