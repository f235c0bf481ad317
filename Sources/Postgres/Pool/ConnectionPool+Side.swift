extension ConnectionPool {
    /// A pool of one connection to the same database, for what must be committed beside the transactions of this one and must not wait for
    /// a place in it. Its connection is closed when nobody holds the pool any more.
    ///
    /// - Parameter patience: how long a task waits for the connection, and as long again for an answer.
    package func side(patience: Duration) -> ConnectionPool {
        var options = options
        options.statementDeadline = patience
        let configuration = Configuration(maxConnections: 1, acquireTimeout: patience, idleTimeout: .seconds(3600))
        return ConnectionPool(options: options, configuration: configuration, logger: logger)
    }
}
