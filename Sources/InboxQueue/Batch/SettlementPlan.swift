package import FoundationEssentials
import Postgres
import ServiceSupport

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
        var labels = OutcomeLabels()
        /// Why it waits, in a word.
        var reason = "postponed"
        let delay: Duration
        let error: String
        /// Whether this was one of its attempts.
        var isAttempt = false
        /// Whether it runs by itself from now on.
        var isIsolated = true
        /// Whether the server lacks what it needs, or another session holds it.
        var isBlocked = false
    }

    init() {}

    /// An event whose last attempt failed is done: its outcome is `failed`.
    ///
    /// - Parameters:
    ///   - isolates: whether events that are retried run by themselves from then on.
    ///   - isBlocked: whether the server lacks what they need, or another session holds it.
    init(
        _ events: [ClaimedEvent],
        _ settlements: [Settlement],
        _ configuration: QueueConfiguration,
        isolates: Bool = false,
        isBlocked: Bool = false
    ) {
        var generator = SystemRandomNumberGenerator()
        for (event, settlement) in zip(events, settlements) {
            let attempts = event.attempts + 1
            switch settlement {
            case .outcome(let outcome):
                outcomes.append(Settled(event: event, attempts: attempts, outcome: outcome))
            case .retry(let reason, let error, let labels) where attempts < configuration.maximumAttempts:
                let delay = configuration.retry.delay(afterFailures: attempts, using: &generator)
                let retry = Retry(
                    event: event,
                    labels: labels,
                    reason: reason,
                    delay: delay,
                    error: error,
                    isAttempt: true,
                    isIsolated: isolates,
                    isBlocked: isBlocked
                )
                retries.append(retry)
            case .retry(let reason, let error, let labels): giveUp(event, reason: reason, error: error, labels)
            }
        }
    }

    /// Has an event wait and run by itself from then on, with no attempt counted.
    mutating func postpone(_ event: ClaimedEvent, for delay: Duration, error: String, isBlocked: Bool = false) {
        retries.append(Retry(event: event, delay: delay, error: error, isBlocked: isBlocked))
    }

    /// Records that an event is given up.
    mutating func giveUp(_ event: ClaimedEvent, reason: String, error: String, _ labels: OutcomeLabels = OutcomeLabels()) {
        let failed = Outcome(.failed, reason: reason, labels: labels)
        outcomes.append(Settled(event: event, attempts: event.attempts + 1, outcome: failed, error: error))
    }

    /// The events that have run.
    var attempted: [Int64] { outcomes.map(\.event.eventID) + retries.filter(\.isAttempt).map(\.event.eventID) }

    var report: BatchReport {
        var report = BatchReport(retries: retries.count)
        for settled in outcomes { report.results[settled.outcome.result, default: 0] += 1 }
        return report
    }
}

/// What became of an event; recorded once for each.
package struct Outcome: Sendable, Hashable {
    package var result: Result
    /// A word that says why, such as `signature_invalid`; always there unless all went well.
    package var reason: String?
    package var labels: OutcomeLabels

    package init(_ result: Result, reason: String? = nil, labels: OutcomeLabels = OutcomeLabels()) {
        self.result = result
        self.reason = reason
        self.labels = labels
    }

    /// The results that table `outcomes` knows.
    package enum Result: String, Sendable, CaseIterable {
        case applied
        case superseded
        case noEffect = "no_effect"
        case duplicate
        case unhandled
        case rejected
        case failed
        case discarded
    }
}

/// What a verified event says of itself, for people who look for it. Empty where nothing was verified.
package struct OutcomeLabels: Sendable, Hashable {
    package var notificationType: String?
    package var subtype: String?
    package var notificationUUID: UUID?
    package var environment: String?
    package var bundleID: String?
    package var transactionID: String?
    package var originalTransactionID: String?
    /// The known members of another type than this version reads; names without white space.
    package var oddMembers: [String] = []
    /// The values that this version does not know, each as `member=value`, without white space.
    package var unknownValues: [String] = []

    package init() {}
}

/// What to do with a claimed event.
package enum Settlement: Sendable, Hashable {
    /// It is done.
    case outcome(Outcome)
    /// It may succeed later. The text is kept as the event's last error; after the last attempt the outcome is `failed` with this reason.
    case retry(reason: String, error: String, labels: OutcomeLabels)
}

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
