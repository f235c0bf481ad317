/// How long a batch may be prepared, or merged, before its events are looked at one by one.
///
/// Either takes milliseconds. On a machine that is slow or has too much to do, a fixed bound would take
/// healthy batches apart, and their events would then cost more than before; so it follows what an event of the recent batches took, where that is
/// longer, and doubles each time that it was too tight.
struct Patience: Sendable {
    /// The bound while all is well.
    private let minimum: Duration
    private let maximum: Duration
    /// No bound is below it for now.
    private var floor: Duration
    /// What an event took lately, when batches were slow.
    private var perEvent = Duration.zero
    /// What one took in the slowest of the latest few batches. A single slow one says nothing of what is usual: the next slow event would be given
    /// the more time.
    private var slowest = Duration.zero

    /// How many times what was usual is too long.
    private let factor: Int
    /// Smaller batches do not tell what an event costs.
    private static var smallestSample: Int { 16 }

    init(minimum: Duration, maximum: Duration, factor: Int = 8) {
        self.minimum = minimum
        self.maximum = max(minimum, maximum)
        self.factor = factor
        floor = minimum
    }

    /// The bound for a batch of that many events.
    func bound(for events: Int) -> Duration {
        min(max(floor, perEvent * (max(events, Self.smallestSample) * factor)), maximum)
    }

    /// A batch took that long.
    mutating func took(_ duration: Duration, events: Int) {
        let sample = duration / max(events, Self.smallestSample)
        perEvent = max(min(sample, slowest), perEvent * 9 / 10)
        slowest = max(sample, slowest / 2)
        floor = max(minimum, floor / 2)
    }

    /// A batch was ended after its bound: either one of its events is to blame, or the bound was too tight.
    mutating func exceeded(_ bound: Duration) {
        floor = min(max(floor, bound * 2), maximum)
    }
}
