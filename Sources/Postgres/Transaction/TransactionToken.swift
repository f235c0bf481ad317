import Synchronization

/// The state of one transaction: which control statements have still to be sent, and whether it is over.
///
/// BEGIN and SAVEPOINT travel with the statement that follows them, so they cost no round trip of their own.
final class TransactionToken: Sendable {
    private struct State {
        /// Whoever repeats a statement after a conflict, or looks again after a lock, is to see what others have committed meanwhile, whatever
        /// the database's default is.
        var pending: [Statement] = ["BEGIN ISOLATION LEVEL READ COMMITTED"]
        var farewell: [Statement] = []
        var hasBegun = false
        var hasEnded = false
        var savepoints = 0
    }

    private let state = Mutex(State())

    /// What goes before the next statement. To be called on the connection's thread, which keeps the order.
    func takePending() throws(PostgresError) -> [Statement] {
        try state.withLock { state throws(PostgresError) in
            guard !state.hasEnded else { throw PostgresError(.misuse, "the transaction has ended") }
            state.hasBegun = true
            defer { state.pending.removeAll() }
            return state.pending
        }
    }

    /// A savepoint's name that no other one of the transaction has.
    func savepointName(_ name: String) -> String {
        state.withLock { state in
            state.savepoints += 1
            return "\(name)_\(state.savepoints)"
        }
    }

    /// Has `statement` travel with the next one.
    func append(_ statement: Statement) {
        state.withLock { $0.pending.append(statement) }
    }

    /// Takes back the last `sql` and what follows it if it has not been sent; returns whether it was there.
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

    /// Has statements travel with COMMIT.
    func sendOff(with statements: [Statement]) {
        state.withLock { $0.farewell += statements }
    }

    /// Takes out what travels with COMMIT.
    func takeFarewell() -> [Statement] {
        state.withLock { state in
            defer { state.farewell.removeAll() }
            return state.farewell
        }
    }

    /// Ends the transaction; returns whether the server knows of it.
    func end() -> Bool {
        state.withLock { state in
            defer { state.hasEnded = true }
            return state.hasBegun && !state.hasEnded
        }
    }
}
