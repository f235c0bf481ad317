/// A transaction that is open for the length of a closure; see ``Connection/withTransaction(_:)``.
///
/// After a statement has failed, the server refuses all others until the end of the innermost savepoint or of the transaction.
package struct Transaction: Sendable {
    let connection: Connection
    let token: TransactionToken

    /// Runs one statement and returns its rows.
    package func query(_ statement: Statement) async throws -> Rows {
        try await connection.run([statement], in: token)[0]
    }

    /// Runs one statement and returns how many rows it touched.
    @discardableResult
    package func execute(_ statement: Statement) async throws -> Int {
        try await query(statement).affectedRows
    }

    /// Runs statements in one round trip.
    ///
    /// - Throws: The error of the first statement that failed; those after it were not run.
    package func pipeline(_ statements: [Statement]) async throws -> [Rows] {
        try await connection.run(statements, in: token)
    }

    /// Has statements whose rows nobody wants travel with COMMIT, which saves a round trip.
    ///
    /// Nothing may follow them in the transaction. If one fails, the transaction is rolled back and its error is what ``ConnectionPool/withTransaction(_:)`` throws.
    package func leave(with statements: [Statement]) throws {
        for statement in statements { try statement.validate() }
        token.sendOff(with: statements)
    }

    /// How often the server was asked something on this connection so far, or nil while an answer is due: who sees the same number for long
    /// knows that the task that works in the transaction computes.
    package var exchanges: Int? { connection.exchanges }

    /// Gives the connection up, and the transaction with it, whatever the task that works in it is doing. The server rolls it back when it
    /// notices, which is at once unless a statement is under way.
    package func abandon() {
        connection.abandon()
    }

    /// Runs `body` in a savepoint: what it did is kept when it returns, and undone when it throws, after which the transaction goes on.
    ///
    /// SAVEPOINT and RELEASE travel with the next statement. Savepoints nest, and each has a name of its own, which begins as given: when
    /// the RELEASE of an earlier one fails on its way with a later one, going back to the later one must not undo what the earlier one did.
    /// The transaction is lost then.
    @discardableResult
    package nonisolated(nonsending) func savepoint<T: Sendable>(_ name: String, _ body: (Transaction) async throws -> T) async throws -> T {
        let name = token.savepointName(name)
        let savepoint: Statement = "SAVEPOINT \(identifier: name)"
        try savepoint.validate()
        token.append(savepoint)
        let value: T
        do {
            value = try await body(self)
        } catch {
            if !token.withdraw(from: savepoint.sql) { await rollBack(to: name) }
            throw error
        }
        if !token.withdraw(from: savepoint.sql) { token.append("RELEASE SAVEPOINT \(identifier: name)") }
        return value
    }

    /// Rolls back because of an error that the caller gets. When that fails too, the connection is given up and the transaction with it.
    private func rollBack(to name: String) async {
        do {
            try await connection.finish(.rollbackToSavepoint(name, token))
        } catch {
            connection.abandon()
        }
    }
}
