import Postgres

/// How long to wait between two questions for the inbox's numbers.
struct StatisticsPace {
    private let interval: Duration
    private var outage = Backoff(base: .milliseconds(500), cap: .seconds(5))

    /// A question that is answered takes one part in this many of the time at most: dead rows that vacuum cannot remove make it slow.
    private static let shareOfTime = 50
    /// Rather a greater share than numbers that are much older.
    private static let longestRest: Duration = .seconds(60)

    init(interval: Duration) {
        self.interval = interval
    }

    /// The pause after a question that took so long.
    ///
    /// One without an answer is soon asked again: nothing is known until then. But the database may have worked on it in vain, so that it
    /// takes no more than half of the time.
    mutating func rest(after elapsed: Duration, isAnswered: Bool, using generator: inout some RandomNumberGenerator) -> Duration {
        guard isAnswered else { return max(outage.next(using: &generator), min(elapsed, Self.longestRest)) }
        outage.reset()
        return max(interval, min(elapsed * Self.shareOfTime, Self.longestRest))
    }
}
