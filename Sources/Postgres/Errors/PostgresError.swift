import CLibPQ
import ServiceSupport

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
    package private(set) var refusal: String?
    /// The HINT of the server, which says what to do. Descriptions leave it out.
    package private(set) var hint: String?
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

    init(_ error: ThreadError) {
        self.init(.connectionFailed, "\(error)")
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

extension PostgresError {
    /// The kind of a failure. New kinds may be added; handle an unknown one by ``PostgresError/isRetryable``.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case invalidOptions, connectionFailed, connectionLost, timeout, sql, invalidBind, decoding
            case poolExhausted, commitUncertain, rolledBack, closed, misuse
        }

        private let value: Value

        package var description: String { value.rawValue }

        /// The connection string or another setting cannot be used.
        package static let invalidOptions = Code(value: .invalidOptions)
        /// No connection could be made.
        package static let connectionFailed = Code(value: .connectionFailed)
        /// The connection ended. Outside a transaction, a statement in flight may have taken effect.
        package static let connectionLost = Code(value: .connectionLost)
        /// The client's deadline passed; the statement was cancelled and the connection closed.
        package static let timeout = Code(value: .timeout)
        /// The server refused a statement; see ``PostgresError/sqlState``.
        package static let sql = Code(value: .sql)
        /// A value that PostgreSQL cannot store, such as text with NUL. Nothing was sent.
        package static let invalidBind = Code(value: .invalidBind)
        /// A column is missing or has another type or value than requested.
        package static let decoding = Code(value: .decoding)
        /// No connection became free within the acquire timeout.
        package static let poolExhausted = Code(value: .poolExhausted)
        /// COMMIT was sent and may not be durable: its answer was lost, or it did not wait for a synchronous standby.
        package static let commitUncertain = Code(value: .commitUncertain)
        /// COMMIT was answered with ROLLBACK, because the caller swallowed an error inside the transaction.
        package static let rolledBack = Code(value: .rolledBack)
        /// The connection or pool was closed by this process.
        package static let closed = Code(value: .closed)
        /// A call that is not allowed here, such as a statement on a transaction that has ended.
        package static let misuse = Code(value: .misuse)
    }
}

extension PostgresError {
    /// Whether repeating the unit of work from its beginning can succeed, after a pause.
    ///
    /// False for ``Code/commitUncertain``: a retry could apply the effect twice. Check first, or make the work idempotent.
    package var isRetryable: Bool {
        if code == .commitUncertain { return false }
        if code == .connectionFailed || code == .connectionLost || code == .timeout || code == .poolExhausted { return true }
        guard code == .sql, let sqlState else { return false }
        return isStalePlan || Self.retryableStates.contains(sqlState)
            || Self.retryableClasses.contains(String(sqlState.conditionClass))
    }

    /// Whether transactions conflicted (serialization failure, deadlock, lock timeout), so that an immediate retry can succeed.
    package var isSerializationConflict: Bool {
        sqlState == .serializationFailure || sqlState == .deadlockDetected || sqlState == .lockNotAvailable
    }

    /// Whether the server is stopped, stopping or starting, so that this connection is unusable.
    package var isConnectionLoss: Bool {
        if code == .connectionFailed || code == .connectionLost { return true }
        guard let sqlState else { return code == .commitUncertain }
        return sqlState.conditionClass == "08" || Self.shutdownStates.contains(sqlState)
    }

    /// Whether a pool must not lease the connection again: its server has become a standby.
    var preventsReuse: Bool {
        sqlState == .readOnlyTransaction
    }

    private static let shutdownStates: Set<SQLState> = [.adminShutdown, .crashShutdown, .cannotConnectNow]

    private static let retryableStates: Set<SQLState> = [
        .lockNotAvailable, .readOnlyTransaction, .idleInTransactionTimeout, .invalidStatementName, .duplicatePreparedStatement,
    ]

    /// Connection, transaction rollback, resources, operator intervention, system.
    private static let retryableClasses: Set<String> = ["08", "40", "53", "57", "58"]
}

extension Error {
    /// Whether the database cannot be reached or must not be used. A daemon reports that once, so each of its parts logs it as debug only.
    package var isDatabaseOutage: Bool { (self as? PostgresError)?.isConnectionLoss ?? false }

    /// Whether no connection could be had, so that nothing was begun.
    package var isDatabaseUnreachable: Bool { (self as? PostgresError)?.code == .connectionFailed }
}

extension PostgresError {
    /// Reads the server's error about a statement.
    ///
    /// DETAIL and CONTEXT are dropped because they quote data, except the DETAILs of ``refusal``.
    init(_ result: ResultHandle, statementName: String?) {
        let state = result.diagnostic(clibpq_sqlstate).map(SQLState.init(rawValue:))
        let severity = result.diagnostic(clibpq_severity)
        // An error without SQLSTATE comes from libpq, which reports a lost connection.
        let endsConnection = state == nil || severity == "FATAL" || severity == "PANIC"
        let message = result.diagnostic(clibpq_message_primary) ?? Self.firstLine(of: result.errorMessage)
        self.init(
            endsConnection ? .connectionLost : .sql,
            Self.withoutValues(message, state: state),
            sqlState: state,
            severity: severity,
            constraint: result.diagnostic(clibpq_constraint_name),
            position: result.diagnostic(clibpq_statement_position).flatMap { Int($0) }
        )
        self.statementName = statementName
        hint = result.diagnostic(clibpq_message_hint)
        if let state, Self.refusals.contains(state) { refusal = result.diagnostic(clibpq_message_detail) }
    }

    private static let refusals: Set<SQLState> = [.insufficientPrivilege, .dependentObjectsStillExist, .featureNotSupported]

    /// A data exception (class 22) quotes the offending value in its primary message: `invalid input syntax for type uuid: "…"`.
    private static func withoutValues(_ message: String, state: SQLState?) -> String {
        guard state?.conditionClass == "22", let first = message.firstIndex(of: "\""), let last = message.lastIndex(of: "\"") else {
            return message
        }
        return message[..<first] + "(a value)" + message[message.index(after: last)...]
    }

    static func firstLine(of message: String) -> String {
        String(message.prefix { !$0.isNewline })
    }
}

/// A five-character condition code of PostgreSQL (Appendix A, "PostgreSQL Error Codes").
package struct SQLState: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The first two characters: the class of the condition, such as `08` for connection exceptions.
    package var conditionClass: Substring { rawValue.prefix(2) }

    package var description: String { rawValue }

    package static let featureNotSupported = SQLState(rawValue: "0A000")
    package static let foreignKeyViolation = SQLState(rawValue: "23503")
    package static let uniqueViolation = SQLState(rawValue: "23505")
    package static let readOnlyTransaction = SQLState(rawValue: "25006")
    package static let idleInTransactionTimeout = SQLState(rawValue: "25P03")
    package static let invalidStatementName = SQLState(rawValue: "26000")
    package static let dependentObjectsStillExist = SQLState(rawValue: "2BP01")
    package static let invalidSchemaName = SQLState(rawValue: "3F000")
    package static let serializationFailure = SQLState(rawValue: "40001")
    package static let deadlockDetected = SQLState(rawValue: "40P01")
    package static let insufficientPrivilege = SQLState(rawValue: "42501")
    package static let undefinedColumn = SQLState(rawValue: "42703")
    package static let undefinedObject = SQLState(rawValue: "42704")
    package static let wrongObjectType = SQLState(rawValue: "42809")
    package static let undefinedFunction = SQLState(rawValue: "42883")
    package static let undefinedTable = SQLState(rawValue: "42P01")
    package static let duplicatePreparedStatement = SQLState(rawValue: "42P05")
    package static let ambiguousFunction = SQLState(rawValue: "42725")
    package static let invalidFunctionDefinition = SQLState(rawValue: "42P13")
    package static let invalidTableDefinition = SQLState(rawValue: "42P16")
    package static let lockNotAvailable = SQLState(rawValue: "55P03")
    package static let queryCanceled = SQLState(rawValue: "57014")
    package static let adminShutdown = SQLState(rawValue: "57P01")
    package static let crashShutdown = SQLState(rawValue: "57P02")
    package static let cannotConnectNow = SQLState(rawValue: "57P03")
}

/// The keys of this module's log metadata.
enum LogKey {
    static let error = "postgres.error"
    static let message = "postgres.message"
    static let reason = "postgres.reason"
    static let severity = "postgres.severity"
    static let statement = "postgres.statement"
    static let sqlState = "postgres.sqlstate"
}
