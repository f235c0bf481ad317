/// Which events of a batch are done and which wait for another attempt.
struct SettlementPlan: Sendable {
    private(set) var outcomes: [Settled] = []
    private(set) var retries: [Retry] = []

    /// An event that is done.
    struct Settled: Sendable {
        let event: ClaimedEvent
        /// The attempts of its run, the last one included.
        let attempts: Int
        let outcome: Outcome
        /// Of its last attempt, if that failed.
        var error: String?
    }

    /// An event that waits.
    struct Retry: Sendable {
        let event: ClaimedEvent
        let delay: Duration
        let error: String
        /// Whether this was one of its attempts.
        let isAttempt: Bool
        /// Whether it has to run alone from now on.
        var isSuspect = false
    }

    /// An event whose last attempt failed is done: its outcome is `failed`.
    init(events: some Sequence<ClaimedEvent>, settlements: [Settlement], retry: RetryPolicy) {
        var generator = SystemRandomNumberGenerator()
        for (event, settlement) in zip(events, settlements) {
            let attempts = event.attempts + 1
            switch settlement {
            case .outcome(let outcome):
                outcomes.append(Settled(event: event, attempts: attempts, outcome: outcome))
            case .retry(let reason, let error, let labels):
                if let delay = retry.delay(afterFailures: attempts, using: &generator) {
                    retries.append(Retry(event: event, delay: delay, error: error, isAttempt: true))
                } else {
                    let failed = Outcome(.failed, reason: reason, labels: labels)
                    outcomes.append(Settled(event: event, attempts: attempts, outcome: failed, error: error))
                }
            case .postponed(let delay, let error):
                retries.append(Retry(event: event, delay: delay, error: error, isAttempt: false))
            case .suspected(let error):
                retries.append(Retry(event: event, delay: .zero, error: error, isAttempt: false, isSuspect: true))
            }
        }
    }

    /// An event that did not run, see ``RepeatedLosses``.
    mutating func putOff(_ event: ClaimedEvent, for delay: Duration) {
        let error = "its batch was lost each time that the event ran by itself"
        retries.append(Retry(event: event, delay: delay, error: error, isAttempt: false, isSuspect: true))
    }

    /// An event that cannot run as things are.
    mutating func postpone(_ event: ClaimedEvent, for delay: Duration, error: String) {
        retries.append(Retry(event: event, delay: delay, error: error, isAttempt: false))
    }

    var report: BatchReport {
        var report = BatchReport(retries: retries.count)
        for settled in outcomes { report.results[settled.outcome.result, default: 0] += 1 }
        return report
    }
}
