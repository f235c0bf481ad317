/// What a task asks of a connection's thread: one round trip to the server.
enum Exchange: Sendable {
    /// Statements in one pipeline with one sync, inside `transaction` if there is one.
    case statements([Statement], TransactionToken?)
    /// A text of many statements, without binds.
    case script(String)
    case rollbackToSavepoint(String, TransactionToken)
    case commit(TransactionToken)
    case rollback(TransactionToken)

    /// Whether cancelling its task may remove it from the queue, or interrupt it in flight.
    ///
    /// False for the end of a transaction or savepoint: it must not stay open because its task was cancelled.
    var isInterruptible: Bool {
        switch self {
        case .statements, .script: true
        case .rollbackToSavepoint, .commit, .rollback: false
        }
    }
}

/// Why a round trip failed.
enum RoundTripFailure: Error {
    /// The server refused a statement; the connection is ready for the next one.
    case refused(PostgresError)
    /// The task was cancelled; an answer is still due on the connection.
    case cancelled
    /// The deadline passed; an answer is still due on the connection.
    case deadlinePassed
    /// The connection is lost.
    case lost(PostgresError)
}
