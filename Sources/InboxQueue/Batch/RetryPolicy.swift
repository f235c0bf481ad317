/// When an event that could not be settled is tried again.
package struct RetryPolicy: Sendable {
    /// How often an event is tried in one run, at least 1.
    package var maximumAttempts: Int
    /// The delay after the first failure; it doubles after each.
    package var baseDelay: Duration
    package var maximumDelay: Duration

    /// The default keeps trying for seven to fourteen hours.
    package init(maximumAttempts: Int = 20, baseDelay: Duration = .seconds(1), maximumDelay: Duration = .seconds(7200)) {
        self.maximumAttempts = maximumAttempts
        self.baseDelay = baseDelay
        self.maximumDelay = maximumDelay
    }

    /// The delay before the next attempt, or nil when `failures` attempts were the last: exponential, with the upper half random so that
    /// events that failed together do not come back together.
    package func delay(afterFailures failures: Int, using generator: inout some RandomNumberGenerator) -> Duration? {
        guard failures < maximumAttempts else { return nil }
        let doublings = min(max(failures - 1, 0), 40)
        let full = min(baseDelay * (1 << doublings), maximumDelay)
        return full / 2 + full / 2 * Double.random(in: 0...1, using: &generator)
    }
}
