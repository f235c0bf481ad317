package import FoundationEssentials

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
