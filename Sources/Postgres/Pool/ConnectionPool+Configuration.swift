extension ConnectionPool {
    /// The limits of a pool.
    package struct Configuration: Sendable {
        /// How many connections there may be at a time; each has a thread.
        package var maxConnections: Int
        /// How long a task may wait for a connection, the opening of a new one included.
        package var acquireTimeout: Duration
        /// How long a connection may stay unused before it is closed.
        package var idleTimeout: Duration

        package init(maxConnections: Int = 8, acquireTimeout: Duration = .seconds(10), idleTimeout: Duration = .seconds(300)) {
            precondition(maxConnections > 0, "a pool needs at least one connection")
            self.maxConnections = maxConnections
            self.acquireTimeout = acquireTimeout
            self.idleTimeout = idleTimeout
        }
    }
}
