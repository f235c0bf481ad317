extension PostgresError {
    /// Whether repeating the unit of work from its beginning can succeed, after a pause.
    ///
    /// False for ``Code/commitUncertain``: a blind repetition could double the effect; look first, or make the work idempotent.
    package var isRetryable: Bool {
        if code == .commitUncertain { return false }
        if code == .connectionFailed || code == .connectionLost || code == .timeout || code == .poolExhausted { return true }
        guard code == .sql, let sqlState else { return false }
        return isStalePlan || Self.retryableStates.contains(sqlState)
            || Self.retryableClasses.contains(String(sqlState.conditionClass))
    }

    /// Whether two transactions stood in each other's way (serialization failure, deadlock, lock timeout): repeat at once.
    package var isSerializationConflict: Bool {
        sqlState == .serializationFailure || sqlState == .deadlockDetected || sqlState == .lockNotAvailable
    }

    /// Whether the server is gone, going or not yet there: nothing more can be done on this connection.
    package var isConnectionLoss: Bool {
        if code == .connectionFailed || code == .connectionLost { return true }
        guard let sqlState else { return code == .commitUncertain }
        return sqlState.conditionClass == "08" || Self.shutdownStates.contains(sqlState)
    }

    /// Whether a pool must not lend the connection again after this error: it leads to a server that has become a standby.
    var spoilsConnection: Bool {
        sqlState == .readOnlyTransaction
    }

    private static let shutdownStates: Set<SQLState> = [.adminShutdown, .crashShutdown, .cannotConnectNow]

    private static let retryableStates: Set<SQLState> = [
        .lockNotAvailable, .readOnlyTransaction, .idleInTransactionTimeout, .invalidStatementName, .duplicatePreparedStatement,
    ]

    /// Connection, transaction rollback, resources, operator intervention, system.
    private static let retryableClasses: Set<String> = ["08", "40", "53", "57", "58"]
}
