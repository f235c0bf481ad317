/// What the database holds after the run.
struct FinalState {
    /// A row of `inbox`.
    struct Event: Hashable {
        let id: Int64
        let digest: BodyDigest
    }

    /// A row of `outcomes` or of `outcome_history`.
    struct Outcome: Hashable {
        let eventID: Int64
        let result: String
        var reason: String?

        var wording: String { result + (reason.map { ": \($0)" } ?? "") }
    }

    /// A failed attempt that counted.
    struct Attempt: Hashable {
        let eventID: Int64
        /// The error that the queue recorded.
        let error: String
        /// Whether it ran alone.
        var wasAlone = true
    }

    var events: [Event] = []
    /// The events of `inbox_queue`.
    var ready: [Int64] = []
    var outcomes: [Outcome] = []
    var attempts: [Attempt] = []
    /// What `appstore.events_not_exactly_once()` says.
    var notExactlyOnce: [Int64] = []
    /// The rows of `effects`: environment, kind and key.
    var effects: [String] = []
    /// The rows of all other ledger tables, as lines of the reference model.
    var ledger: [String] = []
    /// The notificationUUIDs of `seen_notifications`.
    var seen: [String] = []
}

extension FinalState.Attempt {
    /// Why an attempt failed.
    enum Cause: String, CaseIterable {
        /// The worker was killed, or frozen for too long, while the event ran alone.
        case isolatedLoss = "killed or frozen while it ran alone"
        case future = "signed in the future"
        case poison = "poisoned"
        case other = "for another reason"
    }

    var cause: Cause {
        if error.hasPrefix("killed_worker") || error.hasPrefix("timed_out") { return .isolatedLoss }
        if error.hasPrefix("signed_in_the_future") { return .future }
        return error.contains(Poison.message) ? .poison : .other
    }
}

/// The ledger that follows from the bodies in the inbox.
struct Expectation {
    var effects: [String] = []
    var ledger: [String] = []
}
