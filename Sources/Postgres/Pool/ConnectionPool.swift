package import Logging
import ServiceLifecycle

/// Leases connections to tasks, first come first served, and opens them on demand.
///
/// - A share limits the connections of some users. One of them that waits for its share is in the way of no other.
/// - A connection that broke, timed out, was left in a transaction, or died while idle is not leased again.
/// - A connection whose COMMIT is unanswered keeps its slot until the answer arrives, which limits such connections. The last slot is
///   exempt.
/// - A connection attempt continues when its task times out; the next waiter gets the connection.
/// - When no connection can be opened, all waiters get the error. From then on there is one attempt at a time, with back-off, until one
///   succeeds; a task waits for its result, at most for the acquire timeout.
package final class ConnectionPool: Service {
    private let connections: PooledConnections
    private let configuration: Configuration
    private let share: PoolShare

    var options: ConnectionOptions { connections.options }
    var logger: Logger { connections.logger }

    package convenience init(options: ConnectionOptions, configuration: Configuration = Configuration(), logger: Logger) {
        self.init(options: options, configuration: configuration, logger: logger, ticker: .shared)
    }

    /// - Parameter ticker: Ends the waits of tasks.
    convenience init(options: ConnectionOptions, configuration: Configuration, logger: Logger, ticker: Ticker) {
        let connections = PooledConnections(options: options, configuration: configuration, logger: logger, ticker: ticker)
        self.init(connections, configuration, .whole)
    }

    private init(_ connections: PooledConnections, _ configuration: Configuration, _ share: PoolShare) {
        self.connections = connections
        self.configuration = configuration
        self.share = share
    }

    /// Makes a pool whose users hold at most `limit` of this pool's connections at the same time, so that the others are left to the rest. It
    /// runs and closes with this pool.
    ///
    /// - Parameter acquireTimeout: nil for that of this pool.
    package func share(of limit: Int, acquireTimeout: Duration? = nil) -> ConnectionPool {
        var configuration = configuration
        if let acquireTimeout { configuration.acquireTimeout = acquireTimeout }
        return ConnectionPool(connections, configuration, connections.addShare(of: limit, within: share))
    }

    /// Totals since the pool was created, of all its shares.
    package var counts: Counts { connections.counts }

    /// The current states of its slots, of all its shares.
    package var slots: Slots { connections.slots }

    /// Closes expired idle connections. At graceful shutdown closes all: idle ones at once, leased ones when they are released.
    package func run() async throws {
        let pause = configuration.idleTimeout / 2
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await Task.sleep(for: pause)
                    self.connections.closeExpired()
                } catch {
                    // Cancellation ends the loop.
                    break
                }
            }
        }
        await close()
    }

    /// Leases a connection for the length of `body`.
    ///
    /// - Throws: What `body` throws. ``PostgresError/Code/connectionFailed`` if a new connection cannot be opened in time, or if
    ///   ``Configuration/check`` refuses it. ``PostgresError/Code/poolExhausted`` if no connection became free in time.
    @discardableResult
    package nonisolated(nonsending) func withConnection<T: Sendable>(_ body: (Connection) async throws -> T) async throws -> T {
        let connection = try await connections.lease(share, timeout: configuration.acquireTimeout)
        defer { connections.release(connection, of: share) }
        try await connection.sendOpening()
        try await configuration.check(connection)
        return try await body(connection)
    }

    /// Leases a connection for a transaction; see ``Connection/withTransaction(_:)``.
    @discardableResult
    package nonisolated(nonsending) func withTransaction<T: Sendable>(_ body: (Transaction) async throws -> T) async throws -> T {
        try await withConnection { connection in try await connection.withTransaction(body) }
    }

    /// Leases a connection for one statement and returns its rows.
    package nonisolated(nonsending) func query(_ statement: Statement) async throws -> Rows {
        try await withConnection { connection in try await connection.query(statement) }
    }

    /// Refuses new callers and closes idle connections. Returns when all leased connections are released and no attempt to open one is left.
    package func close() async { await connections.close() }
}
