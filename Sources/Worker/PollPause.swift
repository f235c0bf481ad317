/// The pauses of a worker that polls while no event is due: they double up to a limit.
///
/// Only a quarter of each is random, unlike those of `Backoff`: that is enough for workers not to poll together, and makes fewer polls.
struct PollPause: Sendable {
    private let minimum: Duration
    private let maximum: Duration
    private var bound: Duration

    init(minimum: Duration, maximum: Duration) {
        self.minimum = min(minimum, maximum)
        self.maximum = maximum
        bound = self.minimum
    }

    /// The pause before the next poll.
    mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        defer { bound = min(bound * 2, maximum) }
        return bound * Double.random(in: 0.75...1, using: &generator)
    }

    /// Starts over, after an event.
    mutating func reset() {
        bound = minimum
    }
}
