/// Exponential back-off up to a cap, with full jitter: each pause is drawn between zero and its bound, so that callers which failed
/// together do not retry together.
package struct Backoff: Sendable {
    private let base: Duration
    private let cap: Duration
    private var bound: Duration

    package init(base: Duration, cap: Duration) {
        self.base = base
        self.cap = cap
        bound = min(base, cap)
    }

    /// The pause before the next attempt.
    package mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        defer { bound = min(bound * 2, cap) }
        return bound * Double.random(in: 0...1, using: &generator)
    }

    /// Starts over, after a success.
    package mutating func reset() {
        bound = min(base, cap)
    }
}
