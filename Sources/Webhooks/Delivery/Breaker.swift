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

    init(_ lease: EndpointLease, at now: ContinuousClock.Instant) {
        failures = lease.failures
        failingSince = lease.failingFor.map { now - $0 }
        openUntil = lease.openFor.map { now + $0 }
        probes = lease.probes
    }

    var isOpen: Bool { openUntil != nil }

    /// Whether there was no success for five days.
    func isHopeless(at now: ContinuousClock.Instant) -> Bool {
        failingSince.map { now - $0 >= RetrySchedule.patience } ?? false
    }

    /// A delivery succeeded; true when that closes the breaker.
    mutating func succeeded(at now: ContinuousClock.Instant) -> Bool {
        defer { (failures, failingSince, openUntil, probes) = (0, nil, nil, 0) }
        if isOpen { buckets = [] } else { count(at: now) { $0.successes += 1 } }
        return isOpen
    }

    /// An entry failed, and the endpoint answers others.
    mutating func entryFailed(at now: ContinuousClock.Instant) {
        failingSince = failingSince ?? now
    }

    /// The endpoint failed; true when that opens the breaker.
    mutating func endpointFailed(at now: ContinuousClock.Instant) -> Bool {
        failures += 1
        entryFailed(at: now)
        count(at: now) { $0.failures += 1 }
        guard !isOpen else { return false }
        let (failed, all) = buckets.reduce((0, 0)) { ($0.0 + $1.failures, $0.1 + $1.failures + $1.successes) }
        guard failures >= Self.failuresInARow || all >= 10 && failed * 10 >= all * 7 else { return false }
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

    private mutating func count(at now: ContinuousClock.Instant, _ change: (inout Bucket) -> Void) {
        buckets.removeAll { now - $0.start >= Self.window }
        if buckets.last.map({ now - $0.start >= Self.bucket }) ?? true { buckets.append(Bucket(start: now)) }
        change(&buckets[buckets.count - 1])
    }
}
