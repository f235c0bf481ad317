/// What went wrong between this process and PostgreSQL.
///
/// Neither the properties nor the descriptions hold a bind, a password or the server's DETAIL, CONTEXT and HINT, which quote data.
package struct PostgresError: Error, Sendable {
    package let code: Code
    /// The server's condition code; nil when the server did not speak.
    package private(set) var sqlState: SQLState?
    /// The server's severity, never localised: `ERROR`, `FATAL` or `PANIC`.
    package private(set) var severity: String?
    /// The server's primary message, or what this module or libpq has to say.
    package private(set) var message: String
    /// The constraint that was violated.
    package private(set) var constraint: String?
    /// The DETAIL of `insufficient_privilege`, which names what is missing; that of other conditions quotes data and is not kept.
    package internal(set) var refusal: String?
    /// Where in the SQL text the server saw the error, in characters from 1.
    package private(set) var position: Int?
    /// The name given to the statement that failed.
    package internal(set) var statementName: String?
    /// Whether the failure came from a cached plan that no longer fits: the plan is gone, so a repetition makes a new one.
    package internal(set) var isStalePlan = false

    init(
        _ code: Code,
        _ message: String,
        sqlState: SQLState? = nil,
        severity: String? = nil,
        constraint: String? = nil,
        position: Int? = nil
    ) {
        self.code = code
        self.message = message
        self.sqlState = sqlState
        self.severity = severity
        self.constraint = constraint
        self.position = position
    }

    /// The same failure seen as another kind, for a caller that knows more: a lost connection while a COMMIT was under way.
    func recoded(_ code: Code, prefix: String) -> PostgresError {
        var copy = PostgresError(
            code,
            "\(prefix): \(message)",
            sqlState: sqlState,
            severity: severity,
            constraint: constraint,
            position: position
        )
        copy.statementName = statementName
        copy.refusal = refusal
        return copy
    }

    /// The same failure with a word in front of its message that says where it happened.
    func located(_ place: String) -> PostgresError {
        recoded(code, prefix: place)
    }
}

extension PostgresError: CustomStringConvertible {
    package var description: String {
        var parts = [code.description]
        if let sqlState { parts.append(sqlState.rawValue) }
        var text = parts.joined(separator: " ") + ": " + message
        if let constraint { text += " (constraint \(constraint))" }
        if let position { text += " (at character \(position))" }
        if let statementName { text += " [statement \(statementName)]" }
        return text
    }
}

extension PostgresError {
    /// What is said of a connection that this process has closed.
    static var connectionClosed: PostgresError { PostgresError(.closed, "the connection is closed") }

    /// What is said of a connection that could not go on after `cause`.
    static func connectionGivenUp(after cause: any Error) -> PostgresError {
        guard let error = cause as? PostgresError else {
            return PostgresError(.connectionLost, "the connection was given up when a statement was cancelled")
        }
        return error.code == .connectionLost ? error : error.recoded(.connectionLost, prefix: "the connection was given up after")
    }
}
