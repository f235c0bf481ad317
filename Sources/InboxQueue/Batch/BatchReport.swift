/// How a batch went.
package struct BatchReport: Sendable, Hashable {
    /// Settled events by result.
    package var results: [Outcome.Result: Int] = [:]
    /// Events that wait for another attempt.
    package var retries = 0
    /// Whether there was no room for more events, so that more may be due.
    package var isFull = false

    package init(retries: Int = 0) {
        self.retries = retries
    }

    /// All events that the batch took.
    package var events: Int { results.values.reduce(retries, +) }

    mutating func add(_ other: BatchReport) {
        results.merge(other.results, uniquingKeysWith: +)
        retries += other.retries
        isFull = isFull || other.isFull
    }
}
