/// Stops sending to an endpoint that fails. While it is open, single probes are sent.
struct Breaker: Sendable {
    static let failuresInARow = 5
    static let window: Duration = .seconds(300)
    static let firstPause: Duration = .seconds(5)
    static let longestPause: Duration = .seconds(300)
    private static let bucket: Duration = .seconds(10)

    /// The results of ten seconds.
    private struct Bucket {
        let start: ContinuousClock.Instant
        var successes = 0
        var failures = 0
    }

    /// Failures in a row.
    private(set) var failures: Int
    /// Since the last success.
    private(set) var failingSince: ContinuousClock.Instant?
    /// When the next probe is due; nil while the breaker is closed.
    private(set) var openUntil: ContinuousClock.Instant?
    /// Failed probes.
    private(set) var probes: Int
    private var buckets: [Bucket] = []
    /// Two of the entries that failed in a row, under this lease.
    private var failedEntries: Set<Int64> = []
    /// Failed attempts in a row, also those whose entry alone is at fault, under this lease.
    private var failedAttempts = 0
    private var lastFailedAt: ContinuousClock.Instant?

    init(_ lease: EndpointLease, at now: ContinuousClock.Instant) {
        failures = lease.failures
        failingSince = lease.failingFor.map { now - $0 }
        openUntil = lease.openFor.map { now + $0 }
        probes = lease.probes
    }

    var isOpen: Bool { openUntil != nil }

    /// Whether there were failures, and no success, for five days.
    func isHopeless(at now: ContinuousClock.Instant) -> Bool {
        failedAttempts >= RetrySchedule.attempts && failingSince.map { now - $0 >= RetrySchedule.disableAfter } ?? false
    }

    /// A delivery succeeded; true when that closes the breaker.
    mutating func succeeded(at now: ContinuousClock.Instant) -> Bool {
        (failingSince, failedAttempts) = (nil, 0)
        let wasOpen = close()
        if !wasOpen { count(at: now) { $0.successes += 1 } }
        return wasOpen
    }

    /// An entry failed, and the endpoint answers others.
    mutating func entryFailed(at now: ContinuousClock.Instant) {
        // Days without an attempt are no days of failures.
        if let lastFailedAt, now - lastFailedAt > RetrySchedule.silence { (failingSince, failedAttempts) = (nil, 0) }
        failingSince = failingSince ?? now
        failedAttempts += 1
        lastFailedAt = now
    }

    /// A probe failed by its entry: the endpoint answers again. True when that closes the breaker.
    mutating func probeAnswered(at now: ContinuousClock.Instant) -> Bool {
        entryFailed(at: now)
        return close()
    }

    /// The endpoint failed; true when that opens the breaker.
    ///
    /// The attempts of one entry alone do not open it: that entry would only be a probe from then on, which is never given up.
    mutating func endpointFailed(_ position: Int64, at now: ContinuousClock.Instant) -> Bool {
        failures += 1
        if failedEntries.count < 2 { failedEntries.insert(position) }
        entryFailed(at: now)
        count(at: now) { $0.failures += 1 }
        guard !isOpen else { return false }
        let (failed, all) = buckets.reduce((0, 0)) { ($0.0 + $1.failures, $0.1 + $1.failures + $1.successes) }
        guard failures >= Self.failuresInARow && failedEntries.count > 1 || all >= 10 && failed * 10 >= all * 7 else { return false }
        (openUntil, probes) = (now + Self.firstPause, 0)
        return true
    }

    /// A probe failed.
    mutating func probeFailed(at now: ContinuousClock.Instant, using generator: inout some RandomNumberGenerator) {
        failures += 1
        probes += 1
        entryFailed(at: now)
        let pause = min(Self.firstPause * (1 << min(probes, 10)), Self.longestPause)
        openUntil = now + pause * Double.random(in: 0.8...1, using: &generator)
    }

    /// There was nothing to probe with.
    mutating func postponeProbe(to instant: ContinuousClock.Instant) {
        openUntil = openUntil.map { max($0, instant) }
    }

    private mutating func close() -> Bool {
        let wasOpen = isOpen
        if wasOpen { buckets = [] }
        (failures, openUntil, probes, failedEntries) = (0, nil, 0, [])
        return wasOpen
    }

    private mutating func count(at now: ContinuousClock.Instant, _ change: (inout Bucket) -> Void) {
        buckets.removeAll { now - $0.start >= Self.window }
        if buckets.last.map({ now - $0.start >= Self.bucket }) ?? true { buckets.append(Bucket(start: now)) }
        change(&buckets[buckets.count - 1])
    }
}

/// When an entry is tried again (Standard Webhooks 1.0).
enum RetrySchedule {
    /// How many attempts an entry gets.
    static let attempts = 10
    /// How long a failed entry holds later ones of its subject.
    static let hold: Duration = .seconds(600)
    /// The bounds of what an endpoint may ask for.
    static let retryAfter = Duration.seconds(1)...Duration.seconds(3600)
    /// An endpoint without a success for so long is disabled.
    static let disableAfter: Duration = .seconds(5 * 86_400)
    /// An endpoint without an attempt for so long, which is more than any pause, has not failed meanwhile.
    static let silence: Duration = .seconds(2 * 86_400)

    private static let pauses = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]

    /// The pause after that many failed attempts, 1 to 9, between 80 % and 120 % of the schedule's.
    static func pause(afterFailures failures: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        .seconds(pauses[min(max(failures, 1), pauses.count) - 1]) * Double.random(in: 0.8...1.2, using: &generator)
    }
}

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
