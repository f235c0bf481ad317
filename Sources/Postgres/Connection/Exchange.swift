/// What a task asks of a connection's thread: one round trip to the server.
enum Exchange: Sendable {
    /// Statements in one pipeline with one sync, inside `transaction` if there is one.
    case statements([Statement], TransactionToken?)
    /// A text of many statements, without binds.
    case script(String)
    case commit(TransactionToken)
    case rollback(TransactionToken)

    /// Whether it is dropped when its task is cancelled before it was sent. A transaction must not stay open because of that.
    var isDroppable: Bool {
        switch self {
        case .statements, .script: true
        case .commit, .rollback: false
        }
    }

    /// Whether its task stops waiting for the answer when it is cancelled.
    var isInterruptible: Bool {
        if case .rollback = self { false } else { true }
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
