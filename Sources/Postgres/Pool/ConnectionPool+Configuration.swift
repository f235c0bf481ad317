extension ConnectionPool {
    /// The limits of a pool.
    package struct Configuration: Sendable {
        /// How many connections there may be at a time; each has a thread.
        package var maxConnections: Int
        /// How long a task may wait for a connection, the opening of a new one included.
        package var acquireTimeout: Duration
        /// How long a connection may stay unused before it is closed.
        package var idleTimeout: Duration
        /// Asked about a connection when it is first lent, and again when the last answer is older than ``checkInterval``.
        ///
        /// While it throws, tasks get ``PostgresError/Code/connectionFailed`` as if the database were down.
        package var check: (@Sendable (Connection) async throws -> Void)?
        /// How long an answer of ``check`` holds for a connection.
        package var checkInterval: Duration = .seconds(5)

        package init(maxConnections: Int = 8, acquireTimeout: Duration = .seconds(10), idleTimeout: Duration = .seconds(300)) {
            precondition(maxConnections > 0, "a pool needs at least one connection")
            self.maxConnections = maxConnections
            self.acquireTimeout = acquireTimeout
            self.idleTimeout = idleTimeout
        }
    }
}

extension ConnectionPool.Configuration {
    /// Asks about a connection, unless the last answer is recent.
    func check(_ connection: Connection) async throws {
        guard let check, connection.isCheckDue(after: checkInterval) else { return }
        do {
            try await check(connection)
        } catch let error as PostgresError {
            throw error
        } catch {
            throw PostgresError(.connectionFailed, "\(error)")
        }
        connection.wasChecked()
    }
}
