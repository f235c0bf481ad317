import HTTPServing
import Postgres

/// Why the database refuses a key: the DETAIL of what `appstore.authorize` raises.
enum KeyRefusal: String {
    /// There is no such key, or it has been revoked since the request was taken.
    case unknown = "key_unknown"
    case verb = "verb_missing"
    case environment = "environment_missing"
    case app = "app_missing"

    /// Nil for an error that is not about a key.
    init?(_ error: PostgresError) {
        guard error.sqlState == .insufficientPrivilege, let refusal = error.refusal else { return nil }
        self.init(rawValue: refusal)
    }

    /// The problem with which the interface answers, as its own check does.
    ///
    /// - Parameter verb: which the request needs.
    func problem(needing verb: Verb) -> Problem {
        switch self {
        case .unknown: .unauthorized
        case .verb: .verbNotCovered(verb)
        case .environment: .environmentNotCovered
        case .app: .appNotCovered
        }
    }
}
