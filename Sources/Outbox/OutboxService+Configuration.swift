extension OutboxService {
    /// How calls are made.
    package struct Configuration: Sendable {
        /// The duration of a lease. It must be longer than an attempt.
        package var lease: Duration = .seconds(120)
        /// The timeout of an attempt with all its requests.
        package var attemptTimeout: Duration = .seconds(75)
        /// The timeout of one request.
        package var requestTimeout: Duration = .seconds(30)
        /// The first and the longest pause while no call of a kind is due; each pause is a random part of the current bound.
        package var minimumRest: Duration = .milliseconds(50)
        package var maximumRest: Duration = .seconds(1)
        /// The first and the longest pause while the database is unavailable.
        package var minimumOutage: Duration = .milliseconds(200)
        package var maximumOutage: Duration = .seconds(10)
        package var rules = CallRules()
        package var exchange = Exchange.Configuration()

        package init() {}
    }
}
