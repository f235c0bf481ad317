package import Logging
import ServiceLifecycle
import Synchronization

/// Lends connections to tasks, first come first served, and opens them on demand.
///
/// - A connection that broke, timed out, was left in a transaction, or died while idle is not lent again.
/// - A connection whose COMMIT is unanswered keeps its slot until the answer arrives, which limits such connections. The last slot is
///   exempt.
/// - A connection attempt continues when its task times out; the next waiter gets the connection.
package final class ConnectionPool: Service {
    let options: ConnectionOptions
    private let configuration: Configuration
    let logger: Logger
    private let state: Mutex<State>
    private let tally = Mutex(Counts())

    private typealias State = PoolState<Connection, CheckedContinuation<Connection, any Error>>

    package init(options: ConnectionOptions, configuration: Configuration = Configuration(), logger: Logger) {
        self.options = options
        self.configuration = configuration
        self.logger = logger
        state = Mutex(State(limit: configuration.maxConnections))
    }

    /// How long one round trip may take, including a COMMIT with its commit statements.
    package var statementDeadline: Duration { options.statementDeadline }

    /// Totals since the pool was created.
    package var counts: Counts { tally.withLock(\.self) }

    /// The current states of its slots.
    package var slots: Slots { state.withLock(\.slots) }

    /// Closes expired idle connections. At graceful shutdown closes all: idle ones at once, lent ones when they are returned.
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

    /// Lends a connection for the length of `body`.
    ///
    /// - Throws: What `body` throws. ``PostgresError/Code/connectionFailed`` if a new connection cannot be opened in time, or if
    ///   ``Configuration/check`` refuses it. ``PostgresError/Code/poolExhausted`` if no connection became free in time.
    @discardableResult
    package nonisolated(nonsending) func withConnection<T: Sendable>(_ body: (Connection) async throws -> T) async throws -> T {
        let connection = try await acquire()
        defer { release(connection) }
        try await connection.sendOpening()
        try await configuration.check(connection)
        return try await body(connection)
    }

    /// Lends a transaction on a connection of the pool; see ``Connection/withTransaction(_:)``.
    @discardableResult
    package nonisolated(nonsending) func withTransaction<T: Sendable>(_ body: (Transaction) async throws -> T) async throws -> T {
        try await withConnection { connection in try await connection.withTransaction(body) }
    }

    /// Refuses new callers and closes idle connections. Returns when all lent connections are returned and no attempt to open one is left.
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
    private func acquire() async throws -> Connection {
        while let connection = state.withLock({ $0.acquire() }) {
            if connection.isReusable { return connection }
            logger.notice("connection died while idle")
            discard(connection)
        }
        return try await withAcquireTimeout {
            while true {
                let connection = try await self.waitForConnection(CancellationFlag())
                if connection.isReusable { return connection }
                self.discard(connection)
            }
        }
    }

    /// Waits in the queue for a connection that is returned or opened.
    private func waitForConnection(_ cancellation: CancellationFlag) async throws -> Connection {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                switch state.withLock({ $0.wait(continuation, cancellation) }) {
                case .granted(let connection): continuation.resume(returning: connection)
                case .waiting(let opens): if opens { open() }
                case .cancelled: continuation.resume(throwing: CancellationError())
                case .closed: continuation.resume(throwing: PostgresError.poolClosed)
                }
            }
        } onCancel: {
            cancellation.cancel()
            state.withLock { $0.withdraw(cancellation) }?.resume(throwing: CancellationError())
        }
    }

    /// Starts opening a connection in a reserved slot. The attempt continues when the waiter that caused it times out.
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
        perform(state.withLock { $0.opened(connection, at: .now) }, on: connection)
    }

    private func openingFailed(_ error: any Error) {
        tally.withLock { $0.failed += 1 }
        let action = state.withLock { $0.openingFailed() }
        if let waiter = action.refused {
            waiter.resume(throwing: error)
        } else {
            // No waiter gets the error: each has another attempt, or none is left.
            logger.warning("connection could not be opened", metadata: [LogKey.error: "\(error)"])
        }
        perform(action)
    }

    /// Races `acquire` against the acquire timeout.
    private func withAcquireTimeout(_ acquire: @escaping @Sendable () async throws -> Connection) async throws -> Connection {
        let timeout = configuration.acquireTimeout
        let outcomes = await withTaskGroup(of: Result<Connection?, any Error>.self) { group in
            group.addTask { await Result { try await acquire() } }
            group.addTask { await Result { try await Task.sleep(for: timeout) }.map { nil } }
            let first = await group.next()
            group.cancelAll()
            return [first, await group.next()].compactMap(\.self)
        }
        // A connection may arrive together with the timeout or a cancellation; it must not be lost.
        for case .success(let connection?) in outcomes { return connection }
        if case .failure(let error) = outcomes.first { throw error }
        let code: PostgresError.Code = state.withLock { $0.openings > 0 } ? .connectionFailed : .poolExhausted
        throw PostgresError(code, "no connection within \(timeout); the limit is \(configuration.maxConnections)")
    }

    private func release(_ connection: Connection) {
        guard connection.isReusable else { return discard(connection) }
        perform(state.withLock { $0.release(connection, at: .now) }, on: connection)
    }

    private func discard(_ connection: Connection) {
        tally.withLock { $0.lost += 1 }
        if connection.isAwaitingCommit, let retirement = state.withLock({ $0.retire(connection) }) {
            logger.warning("COMMIT was not answered; its connection keeps its slot until the answer arrives")
            connection.whenEnded { [weak self] in
                guard let self else { return }
                perform(state.withLock { $0.ended(retirement) })
            }
            return
        }
        connection.abandon()
        perform(state.withLock { $0.lost() })
    }

    private func perform(_ action: State.ReturnAction, on connection: Connection) {
        switch action {
        case .keep: break
        case .discard: connection.abandon()
        case .pass(let waiter): waiter.resume(returning: connection)
        }
        resumeDrainWaiters()
    }

    private func perform(_ action: State.SlotAction) {
        if action.opens { open() }
        resumeDrainWaiters()
    }

    private func resumeDrainWaiters() {
        for continuation in state.withLock({ $0.takeDrained() }) { continuation.resume() }
    }
}

extension PostgresError {
    fileprivate static var poolClosed: PostgresError { PostgresError(.closed, "the connection pool is closed") }
}

extension Result where Failure == any Error {
    fileprivate init(catching body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
