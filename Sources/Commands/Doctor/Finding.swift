import AppStore

/// What one check of `doctor` found.
struct Finding: Hashable, Sendable {
    enum Status: String, Comparable, Sendable {
        case ok, warning, failure

        /// The exit code of the command when nothing is worse.
        var exitCode: Int32 {
            switch self {
            case .ok: 0
            case .warning: 1
            case .failure: 2
            }
        }

        static func < (left: Status, right: Status) -> Bool { left.exitCode < right.exitCode }
    }

    let status: Status
    let subject: String
    let found: String
    /// What to do; nil where nothing has to be done.
    let remedy: String?

    static func ok(_ subject: String, _ found: String) -> Finding {
        Finding(status: .ok, subject: subject, found: found, remedy: nil)
    }

    static func warning(_ subject: String, _ found: String, _ remedy: String) -> Finding {
        Finding(status: .warning, subject: subject, found: found, remedy: remedy)
    }

    static func failure(_ subject: String, _ found: String, _ remedy: String) -> Finding {
        Finding(status: .failure, subject: subject, found: found, remedy: remedy)
    }

    /// A warning instead of the finding of a check that could not be made.
    static func unknown(_ subject: String, _ reason: String, _ remedy: String) -> Finding {
        .warning(subject, "not checked: \(reason)", remedy)
    }

    /// Judges the last second of a certificate, since 1970.
    ///
    /// - Parameter days: fewer of them left are a warning.
    static func expiry(_ subject: String, _ notAfter: Int64, now: Int64, days: Int64, _ remedy: String) -> Finding {
        let date = "\(Timestamp(millisecondsSince1970: notAfter * 1000))".prefix(10)
        let left = (notAfter - now) / 86_400
        if notAfter < now { return .failure(subject, "has expired on \(date)", remedy) }
        return left < days ? .warning(subject, "expires on \(date), in \(left) days", remedy) : .ok(subject, "valid until \(date)")
    }
}
