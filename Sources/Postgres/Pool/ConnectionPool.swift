package import Logging
import ServiceLifecycle
import Synchronization

/// Leases connections to tasks, first come first served, and opens them on demand.
///
/// - A connection that broke, timed out, was left in a transaction, or died while idle is not leased again.
/// - A connection whose COMMIT is unanswered keeps its slot until the answer arrives, which limits such connections. The last slot is
///   exempt.
/// - A connection attempt continues when its task times out; the next waiter gets the connection.
/// - When no connection can be opened, all waiters get the error. From then on there is one attempt at a time, with back-off, until one
///   succeeds; a task waits for its result, at most for the acquire timeout.
package final class ConnectionPool: Service {
    let options: ConnectionOptions
    private let configuration: Configuration
    let logger: Logger
    private let ticker: Ticker
    private let state: Mutex<State>
    private let tally = Mutex(Counts())

    private typealias State = PoolState<Connection, CheckedContinuation<Connection, any Error>>

    package convenience init(options: ConnectionOptions, configuration: Configuration = Configuration(), logger: Logger) {
        self.init(options: options, configuration: configuration, logger: logger, ticker: .shared)
    }

    /// - Parameter ticker: Ends the waits of tasks.
    init(options: ConnectionOptions, configuration: Configuration, logger: Logger, ticker: Ticker) {
        self.options = options
        self.configuration = configuration
        self.logger = logger
        self.ticker = ticker
        state = Mutex(State(limit: configuration.maxConnections))
    }

    /// Totals since the pool was created.
    package var counts: Counts { tally.withLock(\.self) }

    /// The current states of its slots.
    package var slots: Slots { state.withLock(\.slots) }

    /// Closes expired idle connections. At graceful shutdown closes all: idle ones at once, leased ones when they are released.
    package func run() async throws {
        let pause = configuration.idleTimeout / 2
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await Task.sleep(for: pause)
                    self.closeExpired()
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
        let connection = try await lease()
        defer { release(connection) }
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
    package func close() async {
        let (unused, waiters) = state.withLock { $0.close() }
        for waiter in waiters { waiter.resume(throwing: PostgresError.poolClosed) }
        for connection in unused { await connection.close() }
        await withCheckedContinuation { continuation in
            if !state.withLock({ $0.awaitDrain(continuation) }) { continuation.resume() }
        }
    }

    private func closeExpired() {
        let limit = ContinuousClock.now - configuration.idleTimeout
        for connection in state.withLock({ $0.expire(before: limit) }) { connection.abandon() }
    }
}

extension ConnectionPool {
    private func lease() async throws -> Connection {
        let deadline = ContinuousClock.now + configuration.acquireTimeout
        while true {
            let connection =
                if let idle = state.withLock({ $0.lease() }) { idle } else { try await waitForConnection(until: deadline) }
            if connection.isReusable { return connection }
            logger.debug("connection died while idle")
            discard(connection)
        }
    }

    /// Waits for a connection that is released or opened.
    private func waitForConnection(until deadline: ContinuousClock.Instant) async throws -> Connection {
        let cancellation = CancellationFlag()
        let timeout = try ticker.add {
            // Also again: the deadline may pass before the task waits.
            if ContinuousClock.now >= deadline { self.refuse(cancellation, self.timeoutError) }
            return true
        }
        defer { ticker.remove(timeout) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                switch state.withLock({ $0.wait(continuation, cancellation, at: .now) }) {
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

    /// The error of a task that has waited for the acquire timeout.
    private var timeoutError: PostgresError {
        let (phase, openings) = state.withLock { ($0.phase, $0.openings) }
        let what = "no connection within \(configuration.acquireTimeout)"
        if case .failing(let error, _) = phase { return error.located(what) }
        if openings > 0 { return PostgresError(.connectionFailed, "\(what): the server has not answered") }
        return PostgresError(.poolExhausted, "\(what): all \(configuration.maxConnections) are in use")
    }

    /// Opens connections in reserved slots, now or after a pause. An attempt continues when the waiter that caused it times out.
    private func meet(_ demand: State.Demand) {
        for _ in 0..<demand.openings { open() }
        guard let retryAt = demand.retryAt else { return }
        do throws(PostgresError) {
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

    private func release(_ connection: Connection) {
        guard connection.isReusable else { return discard(connection) }
        perform(state.withLock { $0.release(connection, at: .now) }, on: connection)
    }

    private func discard(_ connection: Connection) {
        tally.withLock { $0.lost += 1 }
        if connection.isAwaitingCommit, let retirement = state.withLock({ $0.retire(connection) }) {
            connection.whenEnded { [weak self] in
                guard let self else { return }
                meet(state.withLock { $0.ended(retirement, at: .now) })
                resumeDrainWaiters()
            }
            return
        }
        connection.abandon()
        meet(state.withLock { $0.lost(at: .now) })
        resumeDrainWaiters()
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
