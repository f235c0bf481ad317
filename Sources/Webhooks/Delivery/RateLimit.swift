/// At most so many in any second.
struct RateLimit: Sendable {
    /// When the last ones were sent, as a ring.
    private var sent: [ContinuousClock.Instant] = []
    private var oldest = 0
    /// Nil is no limit.
    private(set) var perSecond: Int?

    init(_ perSecond: Int?) {
        self.perSecond = perSecond
    }

    mutating func change(to perSecond: Int?) {
        guard perSecond != self.perSecond else { return }
        // In the order of time; of a smaller limit the latest count.
        let latest = Array(sent[oldest...] + sent[..<oldest]).suffix(perSecond ?? 0)
        (self.perSecond, sent, oldest) = (perSecond, Array(latest), 0)
    }

    /// When the next one may be sent; nil: at once.
    var nextAt: ContinuousClock.Instant? {
        guard let perSecond, sent.count >= perSecond else { return nil }
        return sent[oldest] + .seconds(1)
    }

    mutating func count(at now: ContinuousClock.Instant) {
        guard let perSecond else { return }
        if sent.count < perSecond {
            sent.append(now)
        } else {
            sent[oldest] = now
            oldest = (oldest + 1) % perSecond
        }
    }
}
