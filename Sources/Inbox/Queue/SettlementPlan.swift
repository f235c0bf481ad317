/// Which events of a batch are done and which wait for another attempt.
struct SettlementPlan: Sendable {
    private(set) var outcomes: [(event: ClaimedEvent, attempts: Int, outcome: Outcome, error: String?)] = []
    private(set) var retries: [(event: ClaimedEvent, delay: Duration, error: String)] = []

    /// An event whose last attempt failed is done: its outcome is `failed`.
    init(events: [ClaimedEvent], settlements: [Settlement], retry: RetryPolicy) {
        var generator = SystemRandomNumberGenerator()
        for (event, settlement) in zip(events, settlements) {
            let attempts = event.attempts + 1
            switch settlement {
            case .outcome(let outcome):
                outcomes.append((event, attempts, outcome, nil))
            case .retry(let reason, let error, let labels):
                if let delay = retry.delay(afterFailures: attempts, using: &generator) {
                    retries.append((event, delay, error))
                } else {
                    outcomes.append((event, attempts, Outcome(.failed, reason: reason, labels: labels), error))
                }
            }
        }
    }

    var report: BatchReport {
        var report = BatchReport(retries: retries.count)
        for settled in outcomes { report.results[settled.outcome.result, default: 0] += 1 }
        return report
    }
}
