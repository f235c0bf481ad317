import HTTPServing
import Inbox

extension Problem {
    /// Tells the sender of a body that was not accepted to send it again.
    init(_ error: IntakeError) {
        let retryAfter = max(1, Int(error.retryAfter.components.seconds) + 1)
        switch error.code {
        case .full: self = .queueFull(retryAfter: retryAfter)
        case .shuttingDown: self = .shuttingDown
        case .notCommitted: self = .notCommitted(retryAfter: retryAfter)
        default: self = .databaseUnavailable(retryAfter: retryAfter)
        }
    }
}
