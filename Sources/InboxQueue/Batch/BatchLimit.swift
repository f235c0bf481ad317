/// How many events a batch may take.
///
/// What loses batches, a time-out, a server that restarts, a network that cuts connections, may come back sooner than a large batch is
/// committed, and the same events would be taken for ever. So a batch that was lost is followed by ones of half its size, down to single
/// events, and each full one that was committed by one a quarter larger.
struct BatchLimit: Sendable {
    let maximum: Int
    private(set) var events: Int

    init(maximum: Int) {
        self.maximum = maximum
        events = maximum
    }

    mutating func lost(_ events: Int) {
        self.events = max(1, min(self.events, events / 2))
    }

    mutating func committed(_ events: Int) {
        guard events >= self.events else { return }
        self.events = min(maximum, self.events + max(1, self.events / 4))
    }
}
