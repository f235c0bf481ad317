/// The outcome of one body.
enum ReplayOutcome: Hashable, Sendable {
    /// Answered with 200.
    case taken
    /// A dry run: it would have been posted.
    case ready
    /// Answered with a status that a retry would not change.
    case refused(status: Int)
    /// The body cannot be posted.
    case notPosted(reason: String)
    /// The time limit has passed; the status is that of the last attempt, nil when it got no answer.
    case unanswered(status: Int?)

    /// The name in the JSON that `replay` prints.
    var name: String {
        switch self {
        case .taken: "taken"
        case .ready: "ready"
        case .refused: "refused"
        case .notPosted: "not_posted"
        case .unanswered: "unanswered"
        }
    }

    var status: Int? {
        switch self {
        case .taken: 200
        case .refused(let status): status
        case .unanswered(let status): status
        case .ready, .notPosted: nil
        }
    }
}
