/// A transaction that is open for the length of a closure; see ``Connection/withTransaction(_:)``.
///
/// After an error the server refuses further statements until the innermost savepoint or the transaction ends.
package struct Transaction: Sendable {
    let connection: Connection
    let token: TransactionToken

    /// Runs one statement and returns its rows.
    package func query(_ statement: Statement) async throws -> Rows {
        try await connection.run([statement], in: token)[0]
    }

    /// Runs one statement and returns the number of affected rows.
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

    /// Sends `statements` together with COMMIT, which saves a round trip. Their rows are discarded.
    ///
    /// No other statement may follow them in the transaction. If one fails, the transaction is rolled back and
    /// ``ConnectionPool/withTransaction(_:)`` throws its error.
    package func append(toCommit statements: [Statement]) throws {
        for statement in statements { try statement.validate() }
        token.append(toCommit: statements)
    }

    /// Completed round trips; nil while one is in flight. Unchanged for long means that the task in the transaction is computing.
    package var exchanges: Int? { connection.exchanges }

    /// Closes the connection, and with it the transaction, from any task.
    ///
    /// The server rolls the transaction back at once, or after the statement in flight.
    package func abandon() {
        connection.abandon()
    }

    /// Runs `body` in a savepoint, which is released when it returns and rolled back when it throws. The transaction continues either way.
    ///
    /// SAVEPOINT and RELEASE are sent with the next statement. Savepoints nest. Each gets a unique name that begins with `name`: if a
    /// RELEASE fails together with the next SAVEPOINT, rolling back to the next one must not undo the earlier one. In that case the
    /// transaction is lost.
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

    /// Rolls back after an error that the caller rethrows. If the rollback fails, closing the connection ends the transaction.
    private func rollBack(to name: String) async {
        do {
            try await connection.finish(.rollbackToSavepoint(name, token))
        } catch {
            connection.abandon()
        }
    }
}
