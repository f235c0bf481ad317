extension PostgresError {
    /// Whether repeating the unit of work from its beginning can succeed, after a pause.
    ///
    /// False for ``Code/commitUncertain``: a retry could apply the effect twice. Check first, or make the work idempotent.
    package var isRetryable: Bool {
        if code == .commitUncertain { return false }
        if code == .connectionFailed || code == .connectionLost || code == .timeout || code == .poolExhausted { return true }
        guard code == .sql, let sqlState else { return false }
        return isStalePlan || Self.retryableStates.contains(sqlState)
            || Self.retryableClasses.contains(String(sqlState.conditionClass))
    }

    /// Whether transactions conflicted (serialization failure, deadlock, lock timeout), so that an immediate retry can succeed.
    package var isSerializationConflict: Bool {
        sqlState == .serializationFailure || sqlState == .deadlockDetected || sqlState == .lockNotAvailable
    }

    /// Whether the server is stopped, stopping or starting, so that this connection is unusable.
    package var isConnectionLoss: Bool {
        if code == .connectionFailed || code == .connectionLost { return true }
        guard let sqlState else { return code == .commitUncertain }
        return sqlState.conditionClass == "08" || Self.shutdownStates.contains(sqlState)
    }

    /// Whether a pool must not lease the connection again: its server has become a standby.
    var preventsReuse: Bool {
        sqlState == .readOnlyTransaction
    }

    private static let shutdownStates: Set<SQLState> = [.adminShutdown, .crashShutdown, .cannotConnectNow]

    private static let retryableStates: Set<SQLState> = [
        .lockNotAvailable, .readOnlyTransaction, .idleInTransactionTimeout, .invalidStatementName, .duplicatePreparedStatement,
    ]

    /// Connection, transaction rollback, resources, operator intervention, system.
    private static let retryableClasses: Set<String> = ["08", "40", "53", "57", "58"]
}

extension Error {
    /// Whether the database cannot be reached or must not be used. A daemon reports that once, so each of its parts logs it as debug only.
    package var isDatabaseOutage: Bool { (self as? PostgresError)?.isConnectionLoss ?? false }

    /// Whether no connection could be had, so that nothing was begun.
    package var isDatabaseUnreachable: Bool { (self as? PostgresError)?.code == .connectionFailed }
}
