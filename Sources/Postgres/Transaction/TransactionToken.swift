import Synchronization

/// The state of one transaction: what is still to be sent, and whether it has ended.
///
/// BEGIN is sent with the first statement, so it costs no extra round trip.
final class TransactionToken: Sendable {
    private struct State {
        /// Each statement must see what other sessions have committed, such as a retry after a conflict, whatever the database's default
        /// isolation level is.
        var begin: Statement? = "BEGIN ISOLATION LEVEL READ COMMITTED"
        var commitStatements: [Statement] = []
        var hasEnded = false
    }

    private let state = Mutex(State())

    /// Takes BEGIN before the first statement. Called on the connection's thread only, which keeps the order.
    func takeBegin() throws(PostgresError) -> [Statement] {
        try state.withLock { state throws(PostgresError) in
            guard !state.hasEnded else { throw PostgresError(.misuse, "the transaction has ended") }
            defer { state.begin = nil }
            return state.begin.map { [$0] } ?? []
        }
    }

    /// Sends `statements` together with COMMIT.
    func append(toCommit statements: [Statement]) {
        state.withLock { $0.commitStatements += statements }
    }

    /// Takes the statements to send with COMMIT.
    func takeCommitStatements() -> [Statement] {
        state.withLock { state in
            defer { state.commitStatements.removeAll() }
            return state.commitStatements
        }
    }

    /// Ends the transaction; returns whether BEGIN was taken for sending and the transaction had not ended yet.
    func end() -> Bool {
        state.withLock { state in
            defer { state.hasEnded = true }
            return state.begin == nil && !state.hasEnded
        }
    }
}
