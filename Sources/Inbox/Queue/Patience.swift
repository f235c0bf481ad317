/// How long the preparation of a batch may take before the batch is given up and its events run one by one.
///
/// Preparing is computing, a fraction of a millisecond for each event. On a machine that is slow or has too much to do, a fixed bound would give
/// healthy batches up, and their events would then cost more than before; so it follows what an event of the recent batches took, where that is
/// longer, and doubles each time that it was too tight.
struct Patience: Sendable {
    /// The bound while all is well.
    private let minimum: Duration
    private let maximum: Duration
    /// No bound is below it for now.
    private var floor: Duration
    /// What an event took lately, when it was slow.
    private var perEvent = Duration.zero

    /// How many times what was usual is too long.
    private static var factor: Int { 8 }
    /// Smaller batches do not tell what an event costs.
    private static var smallestSample: Int { 16 }

    /// The first batches of a process meet cold caches: they have twice the minimum.
    init(minimum: Duration, maximum: Duration) {
        self.minimum = minimum
        self.maximum = max(minimum, maximum)
        floor = min(minimum * 2, self.maximum)
    }

    /// The bound for a batch of that many events.
    func bound(for events: Int) -> Duration {
        min(max(floor, perEvent * (max(events, Self.smallestSample) * Self.factor)), maximum)
    }

    /// A batch was prepared in that time.
    mutating func took(_ duration: Duration, events: Int) {
        perEvent = max(duration / max(events, Self.smallestSample), perEvent * 9 / 10)
        floor = max(minimum, floor / 2)
    }

    /// A batch was given up after its bound: either one of its events is to blame, or the bound was too tight.
    mutating func exceeded(_ bound: Duration) {
        floor = min(max(floor, bound * 2), maximum)
    }
}
