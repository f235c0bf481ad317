/// What the database holds in the end.
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

    /// An attempt that did not succeed and counted.
    struct Attempt: Hashable {
        let eventID: Int64
        /// What the queue noted as its error.
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
    /// The rows of all other books, as the reference model words them.
    var books: [String] = []
    /// The notificationUUIDs of `seen_notifications`.
    var seen: [String] = []
}

extension FinalState.Attempt {
    /// Why an attempt did not succeed.
    enum Cause: String, CaseIterable {
        /// While it ran alone its worker was killed, or frozen for too long.
        case suspicion = "killed or frozen while it ran alone"
        case future = "signed in the future"
        case poison = "poisoned"
        case other = "for another reason"
    }

    var cause: Cause {
        if error.hasPrefix("killed_worker") || error.hasPrefix("timed_out") { return .suspicion }
        if error.hasPrefix("signed_in_the_future") { return .future }
        return error.contains(Poison.message) ? .poison : .other
    }
}

/// What the books must say, given the bodies that the inbox holds.
struct Expectation {
    var effects: [String] = []
    var books: [String] = []
}
