import GroupCommit
import HTTPServing

extension Problem {
    /// The answer for a body that was not accepted: the client must send it again.
    init(_ error: GroupCommitError) {
        let retryAfter = max(1, Int(error.retryAfter.components.seconds) + 1)
        switch error.code {
        case .full: self = .queueFull(retryAfter: retryAfter)
        case .shuttingDown: self = .shuttingDown
        case .notCommitted: self = .notCommitted(retryAfter: retryAfter)
        default: self = .databaseUnavailable(retryAfter: retryAfter)
        }
    }
}
