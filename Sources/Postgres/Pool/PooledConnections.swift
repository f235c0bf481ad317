import Logging
import Synchronization

/// The connections of a pool and of its shares: leases them first come first served, opens them on demand, and closes them.
final class PooledConnections: Sendable {
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
        let timer = try ticker.add {
            // Also again: the deadline may pass before the task waits.
            if ContinuousClock.now >= deadline { self.refuse(cancellation, self.timeoutError(share, timeout)) }
            return true
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
