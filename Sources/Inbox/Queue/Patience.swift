/// How long a batch may take before it is given up and its events run one by one.
///
/// A bound of one second would give up healthy batches on a slow machine or a slow database, and their events would then cost more than
/// before; so the bound is a multiple of what an event of the recent batches took, where that is longer.
struct Patience: Sendable {
    /// The bound while all is well.
    let minimum: Duration
    let maximum: Duration
    /// What an event took lately, when it was slow; nil before the first batch.
    private var perEvent: Duration?

    /// How many times what was usual is too long.
    private static var factor: Int { 8 }
    /// Smaller batches do not tell what an event costs.
    private static var smallestSample: Int { 16 }

    init(minimum: Duration, maximum: Duration) {
        self.minimum = minimum
        self.maximum = max(minimum, maximum)
    }

    /// The bound for a batch of that many events.
    func bound(for events: Int) -> Duration {
        guard let perEvent else { return maximum }
        return min(max(minimum, perEvent * (events * Self.factor)), maximum)
    }

    /// A batch took that long.
    mutating func took(_ duration: Duration, events: Int) {
        let sample = duration / max(events, Self.smallestSample)
        perEvent = max(sample, (perEvent ?? .zero) * 9 / 10)
    }

    /// A batch was given up after its bound: either one of its events is to blame, or the bound was too tight, so the next one is twice
    /// as long, until batches are quick again.
    mutating func exceeded(_ bound: Duration, events: Int) {
        perEvent = max(perEvent ?? .zero, bound * 2 / (events * Self.factor))
    }
}
