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
