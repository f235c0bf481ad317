/// An error of the server, of libpq, or of this module.
///
/// Neither the properties nor the descriptions contain a bind, a password or the server's DETAIL and CONTEXT, which quote data.
package struct PostgresError: Error, Sendable {
    package let code: Code
    /// The server's condition code; nil when the error is not the server's.
    package private(set) var sqlState: SQLState?
    /// The server's severity, never localised: `ERROR`, `FATAL` or `PANIC`.
    package private(set) var severity: String?
    /// The primary message of the server, of libpq or of this module.
    package private(set) var message: String
    /// The constraint that was violated.
    package private(set) var constraint: String?
    /// The DETAIL of `insufficient_privilege`, which names the missing privilege, and of `dependent_objects_still_exist` and
    /// `feature_not_supported`, which name objects. Other DETAILs quote data and are dropped.
    package internal(set) var refusal: String?
    /// The HINT of the server, which says what to do. Descriptions leave it out.
    package internal(set) var hint: String?
    /// Where in the SQL text the server saw the error, in characters from 1.
    package private(set) var position: Int?
    /// The name of the statement that failed.
    package internal(set) var statementName: String?
    /// Whether a cached plan no longer matched the schema. The plan was removed, so a retry prepares a new one.
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

    /// The same error with another code, such as a lost connection while a COMMIT was in flight.
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
        copy.hint = hint
        return copy
    }

    /// The same error with its location in front of the message.
    func located(_ place: String) -> PostgresError {
        recoded(code, prefix: place)
    }
}

extension PostgresError: CustomStringConvertible {
    /// The message, and in parentheses what a search needs: `relation "x" does not exist (SQLSTATE 42P01, at character 15)`.
    package var description: String {
        let notes = [
            sqlState.map { "SQLSTATE \($0)" }, constraint.map { "constraint \($0)" }, position.map { "at character \($0)" },
            statementName.map { "statement \($0)" },
        ].compactMap(\.self)
        return notes.isEmpty ? message : "\(message) (\(notes.joined(separator: ", ")))"
    }
}

extension PostgresError {
    /// The error for a connection that this process has closed.
    static var connectionClosed: PostgresError { PostgresError(.closed, "the connection is closed") }

    /// The error for later requests on a connection that was closed after `cause`.
    static func connectionAbandoned(after cause: any Error) -> PostgresError {
        guard let error = cause as? PostgresError else {
            return PostgresError(.connectionLost, "the connection was closed when a statement was cancelled")
        }
        return error.code == .connectionLost ? error : error.recoded(.connectionLost, prefix: "the connection was closed after")
    }
}
