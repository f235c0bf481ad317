import Synchronization

/// The state of one transaction: the control statements still to be sent, and whether it has ended.
///
/// BEGIN and SAVEPOINT are sent with the next statement, so they cost no extra round trip.
final class TransactionToken: Sendable {
    private struct State {
        /// Each statement must see what other sessions have committed, such as a retry after a conflict, whatever the database's default
        /// isolation level is.
        var pending: [Statement] = ["BEGIN ISOLATION LEVEL READ COMMITTED"]
        var commitStatements: [Statement] = []
        var hasBegun = false
        var hasEnded = false
        var savepoints = 0
    }

    private let state = Mutex(State())

    /// Takes the control statements to send before the next statement. Called on the connection's thread only, which keeps the order.
    func takePending() throws(PostgresError) -> [Statement] {
        try state.withLock { state throws(PostgresError) in
            guard !state.hasEnded else { throw PostgresError(.misuse, "the transaction has ended") }
            state.hasBegun = true
            defer { state.pending.removeAll() }
            return state.pending
        }
    }

    /// A savepoint name that is unique in the transaction.
    func savepointName(_ name: String) -> String {
        state.withLock { state in
            state.savepoints += 1
            return "\(name)_\(state.savepoints)"
        }
    }

    /// Sends `statement` together with the next one.
    func append(_ statement: Statement) {
        state.withLock { $0.pending.append(statement) }
    }

    /// Removes the last pending `sql` and the statements after it; returns whether it was pending.
    func withdraw(from sql: String) -> Bool {
        state.withLock { state in
            guard let index = state.pending.lastIndex(where: { $0.sql == sql }) else { return false }
            state.pending.removeSubrange(index...)
            return true
        }
    }

    func dropPending() {
        state.withLock { $0.pending.removeAll() }
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
            return state.hasBegun && !state.hasEnded
        }
    }
}
