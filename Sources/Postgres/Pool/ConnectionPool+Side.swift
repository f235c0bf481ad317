extension ConnectionPool {
    /// Makes a pool of one connection to the same database, for statements that commit beside this pool's transactions and must not wait for a
    /// slot in it. Its connection closes when the pool is freed.
    ///
    /// - Parameter timeout: How long a task waits for the connection, and how long one round trip may take.
    package func side(timeout: Duration) -> ConnectionPool {
        var options = options
        options.statementDeadline = timeout
        let configuration = Configuration(maxConnections: 1, acquireTimeout: timeout, idleTimeout: .seconds(3600))
        return ConnectionPool(options: options, configuration: configuration, logger: logger)
    }
}
