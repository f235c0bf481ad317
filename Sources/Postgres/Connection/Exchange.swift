/// What a task asks of a connection's thread: one conversation with the server.
enum Exchange: Sendable {
    /// Statements in one pipeline with one sync, inside `transaction` if there is one.
    case statements([Statement], TransactionToken?)
    /// Many statements in one text, without binds.
    case script(String)
    case rollbackToSavepoint(String, TransactionToken)
    case commit(TransactionToken)
    case rollback(TransactionToken)

    /// Whether a cancelled task may take it back, or break it off while it is under way.
    ///
    /// What ends a transaction or a savepoint is always seen through: otherwise it would be open or kept against the task's will.
    var isInterruptible: Bool {
        switch self {
        case .statements, .script: true
        case .rollbackToSavepoint, .commit, .rollback: false
        }
    }
}

/// Why a conversation brought no rows.
enum ConversationFailure: Error {
    /// The server refused a statement, said all it had to say, and is ready again.
    case refused(PostgresError)
    /// The task no longer waits; the connection is in the middle of something.
    case cancelled
    /// The server has not answered in time; the connection is in the middle of something.
    case deadlinePassed
    /// The connection is gone.
    case lost(PostgresError)
}
