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
    }

    var events: [Event] = []
    /// The events of `inbox_ready`.
    var ready: [Int64] = []
    var outcomes: [Outcome] = []
    /// What `appstore.events_not_exactly_once()` says.
    var notExactlyOnce: [Int64] = []
    /// The rows of `effects`: environment, kind and key.
    var effects: [String] = []
    /// The rows of all other books, as the reference model words them.
    var books: [String] = []
    /// The notificationUUIDs of `notifications_seen`.
    var seen: [String] = []
}

/// What the books must say, given the bodies that the inbox holds.
struct Expectation {
    var effects: [String] = []
    var books: [String] = []
}
