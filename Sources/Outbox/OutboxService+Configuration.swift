package import Postgres

extension OutboxService {
    /// How calls are made.
    package struct Configuration: Sendable {
        /// The duration of a lease. It must be longer than an attempt.
        package var lease: Duration = .seconds(120)
        /// The timeout of an attempt with all its requests.
        package var attemptTimeout: Duration = .seconds(75)
        /// The timeout of one request.
        package var requestTimeout: Duration = .seconds(30)
        /// The pauses while no call of a kind is due.
        package var rest = Backoff(base: .milliseconds(50), cap: .seconds(1))
        /// The pauses while the database is unavailable.
        package var outage = Backoff(base: .milliseconds(200), cap: .seconds(10))
        package var rules = CallRules()
        package var exchange = Exchange.Configuration()

        package init() {}
    }
}
