/// A transaction that is open for the length of a closure; see ``Connection/withTransaction(_:)``.
///
/// After an error the server refuses further statements until the transaction ends.
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
}
