extension OutboxService {
    /// How calls are made.
    package struct Configuration: Sendable {
        /// How long a call is this process's. It must outlast an attempt.
        package var lease: Duration = .seconds(120)
        /// The longest that an attempt may take, with all its requests.
        package var attemptTimeout: Duration = .seconds(75)
        /// The longest that one request may take.
        package var requestTimeout: Duration = .seconds(30)
        /// How long to wait, at first and at most, while nothing of a kind is due; each time a random part of it.
        package var minimumRest: Duration = .milliseconds(50)
        package var maximumRest: Duration = .seconds(1)
        /// How long to wait, at first and at most, while the database is away.
        package var minimumOutage: Duration = .milliseconds(200)
        package var maximumOutage: Duration = .seconds(10)
        package var rules = CallRules()
        package var exchange = Exchange.Configuration()

        package init() {}
    }
}
