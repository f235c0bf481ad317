package import Logging
import ServiceLifecycle
import ServiceSupport
import Synchronization

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
    private var logger: Logger { connections.logger }

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

        /// Checks a connection unless its last check is recent.
        fileprivate func check(_ connection: Connection) async throws {
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

    /// Totals of a pool's connections since it was created.
    package struct Counts: Hashable, Sendable {
        /// Connections that were opened.
        package var opened: Int
        /// Failed attempts to open a connection.
        package var failed: Int
        /// Connections that broke, timed out or died while idle; each is replaced on demand.
        package var lost: Int

        package init(opened: Int = 0, failed: Int = 0, lost: Int = 0) {
            self.opened = opened
            self.failed = failed
            self.lost = lost
        }
    }

    /// The states of a pool's slots at one moment.
    package struct Slots: Hashable, Sendable {
        package var idle: Int
        package var leased: Int
        package var opening: Int
        /// Unusable connections whose COMMIT the server has not yet answered.
        package var unanswered: Int

        package init(idle: Int = 0, leased: Int = 0, opening: Int = 0, unanswered: Int = 0) {
            self.idle = idle
            self.leased = leased
            self.opening = opening
            self.unanswered = unanswered
        }
    }
}

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

/// The connections of a pool and of its shares: leases them first come first served, opens them on demand, and closes them.
private final class PooledConnections: Sendable {
    let options: ConnectionOptions
    let logger: Logger
    private let configuration: ConnectionPool.Configuration
    private let ticker: Ticker
    private let state: Mutex<State>
    private let tally = Mutex(ConnectionPool.Counts())

    private typealias State = PoolState<Connection, CheckedContinuation<Connection, any Error>>

    /// - Parameter ticker: Ends the waits of tasks.
    init(options: ConnectionOptions, configuration: ConnectionPool.Configuration, logger: Logger, ticker: Ticker) {
        self.options = options
        self.configuration = configuration
        self.logger = logger
        self.ticker = ticker
        state = Mutex(State(limit: configuration.maxConnections))
    }

    var counts: ConnectionPool.Counts { tally.withLock(\.self) }

    var slots: ConnectionPool.Slots { state.withLock(\.slots) }

    func addShare(of limit: Int, within share: PoolShare) -> PoolShare { state.withLock { $0.addShare(of: limit, within: share) } }

    /// Refuses new callers and closes idle connections. Returns when all leased connections are released and no attempt to open one is left.
    func close() async {
        let (unused, waiters) = state.withLock { $0.close() }
        for waiter in waiters { waiter.resume(throwing: PostgresError.poolClosed) }
        for connection in unused { await connection.close() }
        await withCheckedContinuation { continuation in
            if !state.withLock({ $0.awaitDrain(continuation) }) { continuation.resume() }
        }
    }

    func closeExpired() {
        let limit = ContinuousClock.now - configuration.idleTimeout
        for connection in state.withLock({ $0.expire(before: limit) }) { connection.abandon() }
    }

    /// Leases a connection that is usable, at once or after a wait of at most `timeout`.
    func lease(_ share: PoolShare, timeout: Duration) async throws -> Connection {
        let deadline = ContinuousClock.now + timeout
        while true {
            let connection =
                if let idle = state.withLock({ $0.lease(of: share) }) { idle } else { try await wait(share, until: deadline, timeout) }
            if connection.isReusable { return connection }
            logger.debug("connection died while idle")
            discard(connection, of: share)
        }
    }

    /// Waits for a connection that is released or opened.
    private func wait(
        _ share: PoolShare,
        until deadline: ContinuousClock.Instant,
        _ timeout: Duration
    ) async throws -> Connection {
        let cancellation = CancellationFlag()
        let timer: Int
        do throws(ThreadError) {
            timer = try ticker.add {
                // Also again: the deadline may pass before the task waits.
                if ContinuousClock.now >= deadline { self.refuse(cancellation, self.timeoutError(share, timeout)) }
                return true
            }
        } catch {
            throw PostgresError(error)
        }
        defer { ticker.remove(timer) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                switch state.withLock({ $0.wait(continuation, cancellation, of: share, at: .now) }) {
                case .leased(let connection): continuation.resume(returning: connection)
                case .waiting(let demand): meet(demand)
                case .cancelled: continuation.resume(throwing: CancellationError())
                case .closed: continuation.resume(throwing: PostgresError.poolClosed)
                }
            }
        } onCancel: {
            cancellation.cancel()
            refuse(cancellation, CancellationError())
        }
    }

    private func refuse(_ waiter: CancellationFlag, _ error: any Error) {
        state.withLock { $0.withdraw(waiter) }?.resume(throwing: error)
    }

    /// The error of a task that has waited for so long.
    private func timeoutError(_ share: PoolShare, _ timeout: Duration) -> PostgresError {
        let (phase, openings, limit) = state.withLock { ($0.phase, $0.openings, $0.limit(of: share)) }
        let what = "no connection within \(timeout)"
        if case .failing(let error, _) = phase { return error.located(what) }
        if openings > 0 { return PostgresError(.connectionFailed, "\(what): the server has not answered") }
        return PostgresError(.poolExhausted, "\(what): all \(limit) are in use")
    }

    /// Opens connections in reserved slots, now or after a pause. An attempt continues when the waiter that caused it times out.
    private func meet(_ demand: State.Demand) {
        for _ in 0..<demand.openings { open() }
        guard let retryAt = demand.retryAt else { return }
        do throws(ThreadError) {
            _ = try ticker.add { [weak self] in
                guard ContinuousClock.now >= retryAt else { return true }
                if let self { meet(state.withLock { $0.retry(at: .now) }) }
                return false
            }
        } catch {
            // Without a thread no connection can be opened either, and the waiters get that error.
            meet(state.withLock { $0.retry(at: retryAt) })
        }
    }

    private func open() {
        do throws(PostgresError) {
            let connection = try Connection.start(options, logger: logger)
            connection.whenOpened { outcome in
                switch outcome {
                case .success: self.opened(connection)
                case .failure(let error): self.openingFailed(error)
                }
            }
        } catch {
            openingFailed(error)
        }
    }

    private func opened(_ connection: Connection) {
        tally.withLock { $0.opened += 1 }
        let (action, demand) = state.withLock { $0.opened(connection, at: .now) }
        perform(action, on: connection)
        meet(demand)
    }

    private func openingFailed(_ error: any Error) {
        tally.withLock { $0.failed += 1 }
        var generator = SystemRandomNumberGenerator()
        let reason = error as? PostgresError ?? .poolClosed
        let waiters = state.withLock { $0.openingFailed(reason, at: .now, using: &generator) }
        configuration.openingFailed?(error)
        // Otherwise the callers report it.
        if waiters.isEmpty, configuration.openingFailed == nil {
            logger.warning("connection could not be opened", metadata: [LogKey.error: "\(error)"])
        }
        for waiter in waiters { waiter.resume(throwing: error) }
        resumeDrainWaiters()
    }

    func release(_ connection: Connection, of share: PoolShare) {
        guard connection.isReusable else { return discard(connection, of: share) }
        perform(state.withLock { $0.release(connection, of: share, at: .now) }, on: connection)
    }

    private func discard(_ connection: Connection, of share: PoolShare) {
        defer { serve() }
        tally.withLock { $0.lost += 1 }
        if connection.isAwaitingCommit, let retirement = state.withLock({ $0.retire(connection, of: share) }) {
            connection.whenEnded { [weak self] in
                guard let self else { return }
                meet(state.withLock { $0.ended(retirement, at: .now) })
                resumeDrainWaiters()
            }
            return
        }
        connection.abandon()
        meet(state.withLock { $0.lost(of: share, at: .now) })
        resumeDrainWaiters()
    }

    /// Passes an idle connection to a waiter whose share has room again.
    private func serve() {
        guard let (connection, waiter) = state.withLock({ $0.serveIdle() }) else { return }
        waiter.resume(returning: connection)
    }

    private func perform(_ action: State.ReturnAction, on connection: Connection) {
        switch action {
        case .keep: break
        case .discard: connection.abandon()
        case .pass(let waiter): waiter.resume(returning: connection)
        }
        resumeDrainWaiters()
    }

    private func resumeDrainWaiters() {
        for continuation in state.withLock({ $0.takeDrained() }) { continuation.resume() }
    }
}

extension PostgresError {
    fileprivate static var poolClosed: PostgresError { PostgresError(.closed, "the connection pool is closed") }
}
