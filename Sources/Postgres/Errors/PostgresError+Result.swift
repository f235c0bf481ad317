import CLibPQ

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
