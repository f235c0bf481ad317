extension ConnectionPool {
    /// The limits of a pool.
    package struct Configuration: Sendable {
        /// The maximum number of connections; each has a thread.
        package var maxConnections: Int
        /// How long a task may wait for a connection, including opening a new one.
        package var acquireTimeout: Duration
        /// How long a connection may stay unused before it is closed.
        package var idleTimeout: Duration
        /// Checks a connection when it is first leased, and again when the last check is older than ``checkInterval``.
        ///
        /// While it throws, callers get ``PostgresError/Code/connectionFailed`` as if the server were unavailable.
        package var check: (@Sendable (Connection) async throws -> Void)?
        /// How long a successful ``check`` is valid for a connection.
        package var checkInterval: Duration = .seconds(5)
        /// Called with the reason each time that a connection could not be opened; nil logs a warning where no caller gets the error.
        package var openingFailed: (@Sendable (any Error) -> Void)?

        package init(maxConnections: Int = 8, acquireTimeout: Duration = .seconds(10), idleTimeout: Duration = .seconds(60)) {
            precondition(maxConnections > 0, "a pool needs at least one connection")
            self.maxConnections = maxConnections
            self.acquireTimeout = acquireTimeout
            self.idleTimeout = idleTimeout
        }
    }
}

extension ConnectionPool.Configuration {
    /// Checks a connection unless its last check is recent.
    func check(_ connection: Connection) async throws {
        guard let check, connection.isCheckDue(after: checkInterval) else { return }
        do {
            try await check(connection)
        } catch let error as PostgresError {
            throw error
        } catch {
            throw PostgresError(.connectionFailed, "\(error)")
        }
        connection.markChecked()
    }
}
