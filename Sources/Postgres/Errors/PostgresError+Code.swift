extension PostgresError {
    /// The kind of a failure. New kinds may be added; handle an unknown one by ``PostgresError/isRetryable``.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case invalidOptions, connectionFailed, connectionLost, timeout, sql, invalidBind, decoding
            case poolExhausted, commitUncertain, rolledBack, closed, misuse
        }

        private let value: Value

        package var description: String { value.rawValue }

        /// The connection string or another setting cannot be used.
        package static let invalidOptions = Code(value: .invalidOptions)
        /// No connection could be made.
        package static let connectionFailed = Code(value: .connectionFailed)
        /// The connection ended. Outside a transaction, a statement in flight may have taken effect.
        package static let connectionLost = Code(value: .connectionLost)
        /// The client's deadline passed; the statement was cancelled and the connection closed.
        package static let timeout = Code(value: .timeout)
        /// The server refused a statement; see ``PostgresError/sqlState``.
        package static let sql = Code(value: .sql)
        /// A value that PostgreSQL cannot store, such as text with NUL. Nothing was sent.
        package static let invalidBind = Code(value: .invalidBind)
        /// A column is missing or has another type or value than requested.
        package static let decoding = Code(value: .decoding)
        /// No connection became free within the acquire timeout.
        package static let poolExhausted = Code(value: .poolExhausted)
        /// COMMIT was sent and may not be durable: its answer was lost, or it did not wait for a synchronous standby.
        package static let commitUncertain = Code(value: .commitUncertain)
        /// COMMIT was answered with ROLLBACK, because the caller swallowed an error inside the transaction.
        package static let rolledBack = Code(value: .rolledBack)
        /// The connection or pool was closed by this process.
        package static let closed = Code(value: .closed)
        /// A call that is not allowed here, such as a statement on a transaction that has ended.
        package static let misuse = Code(value: .misuse)
    }
}
