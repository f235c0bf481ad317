/// What became of one body.
enum ReplayOutcome: Hashable, Sendable {
    /// Answered with 200.
    case taken
    /// A dry run: it would have been posted.
    case ready
    /// Answered with a status that another attempt would not change.
    case refused(status: Int)
    /// There was nothing to post.
    case notPosted(reason: String)
    /// Tried as long as patience lasted; the status was the last answer, nil when there was none.
    case unanswered(status: Int?)

    /// The word in the JSON that `replay` prints.
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
