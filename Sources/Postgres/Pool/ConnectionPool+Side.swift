extension ConnectionPool {
    /// Makes a pool of one connection to the same database, for statements that commit beside this pool's transactions and must not wait for a
    /// slot in it. Run the pool to close an unused connection after the idle timeout; without that, the connection closes with the pool.
    ///
    /// - Parameter timeout: How long a task waits for the connection, and how long one round trip may take.
    package func side(timeout: Duration) -> ConnectionPool {
        var options = options
        options.statementDeadline = timeout
        let configuration = Configuration(maxConnections: 1, acquireTimeout: timeout)
        return ConnectionPool(options: options, configuration: configuration, logger: logger)
    }
}
