import HTTPServing
import Postgres

/// Why the database refuses a key: the DETAIL of the error raised by `appstore.authorize`.
enum KeyRefusal: String {
    /// The key does not exist, or it was revoked or expired during the request.
    case unknown = "key_unknown"
    case verb = "verb_missing"
    case environment = "environment_missing"
    case app = "app_missing"

    /// Nil for an error with another cause.
    init?(_ error: PostgresError) {
        guard error.sqlState == .insufficientPrivilege, let refusal = error.refusal else { return nil }
        self.init(rawValue: refusal)
    }

    /// The problem to answer with, equal to that of the check before the statement.
    ///
    /// - Parameter verb: the verb that the request needs.
    func problem(needing verb: Verb) -> Problem {
        switch self {
        case .unknown: .unauthorized
        case .verb: .verbNotCovered(verb)
        case .environment: .environmentNotCovered
        case .app: .appNotCovered
        }
    }
}
