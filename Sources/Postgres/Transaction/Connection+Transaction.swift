extension Connection {
    /// Runs `body` in a transaction that is committed when it returns, and rolled back when it throws or its task was cancelled.
    ///
    /// BEGIN is sent with the first statement; a transaction without statements sends nothing.
    ///
    /// - Throws: What `body` throws, `CancellationError`, or the error of COMMIT: ``PostgresError/Code/sql`` if it was refused, such as by a deferred
    ///   constraint, ``PostgresError/Code/rolledBack`` if `body` swallowed an error, ``PostgresError/Code/commitUncertain`` if
    ///   its outcome is unknown.
    @discardableResult
    package nonisolated(nonsending) func withTransaction<T: Sendable>(_ body: (Transaction) async throws -> T) async throws -> T {
        let token = TransactionToken()
        let value: T
        do {
            value = try await body(Transaction(connection: self, token: token))
            try Task.checkCancellation()
        } catch {
            await rollBack(token)
            throw error
        }
        try await finish(.commit(token))
        return value
    }

    /// Rolls back after an error that the caller rethrows. If the rollback fails, closing the connection ends the transaction.
    private func rollBack(_ token: TransactionToken) async {
        do {
            try await finish(.rollback(token))
        } catch {
            abandon()
        }
    }
}
