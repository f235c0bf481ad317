/// A sum over a sliding time window, kept in sixty buckets.
struct RollingTotal {
    private static let bucketCount = 60

    private let bucketSeconds: Int64
    private let start: ContinuousClock.Instant
    private var buckets = [Int](repeating: 0, count: bucketCount)
    private var current = 0
    private var sum = 0

    /// Starts an empty sum over a window of whole minutes.
    init(overMinutes minutes: Int64, start: ContinuousClock.Instant) {
        bucketSeconds = minutes
        self.start = start
    }

    /// The sum at an instant. Instants must not decrease between calls.
    mutating func total(at now: ContinuousClock.Instant) -> Int {
        let latest = Int((now - start).components.seconds / bucketSeconds)
        let passed = min(latest - current, Self.bucketCount)
        guard passed > 0 else { return sum }
        for index in latest - passed + 1...latest {
            sum -= buckets[index % Self.bucketCount]
            buckets[index % Self.bucketCount] = 0
        }
        current = latest
        return sum
    }

    /// Adds an amount at an instant.
    mutating func add(_ amount: Int, at now: ContinuousClock.Instant) {
        _ = total(at: now)
        buckets[current % Self.bucketCount] += amount
        sum += amount
    }
}
