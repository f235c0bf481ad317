package import Logging
import ServiceLifecycle
import Synchronization

/// Lends connections to tasks, first come first served, and opens them when they are needed.
///
/// A connection that broke, timed out, was left in a transaction, or died while it was idle is not lent again.
package final class ConnectionPool: Service {
    let options: ConnectionOptions
    private let configuration: Configuration
    let logger: Logger
    private let state: Mutex<State>
    private let tally = Mutex(Counts())

    private typealias State = PoolState<Connection, CheckedContinuation<PoolGrant<Connection>, any Error>>

    package init(options: ConnectionOptions, configuration: Configuration = Configuration(), logger: Logger) {
        self.options = options
        self.configuration = configuration
        self.logger = logger
        state = Mutex(State(limit: configuration.maxConnections))
    }

    /// What has happened to the connections so far.
    package var counts: Counts { tally.withLock(\.self) }

    /// Closes idle connections in time, and at graceful shutdown all of them: idle ones at once, lent ones when they come back.
    package func run() async throws {
        let pause = configuration.idleTimeout / 2
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await Task.sleep(for: pause)
                    self.closeExpired()
                } catch {
                    // Cancellation is how the loop ends.
                    break
                }
            }
        }
        await close()
    }

    /// Lends a connection for the length of `body`.
    ///
    /// - Throws: What `body` throws; ``PostgresError/Code/connectionFailed`` if a new connection is needed and cannot be made;
    ///   ``PostgresError/Code/poolExhausted`` if none became free in time.
    @discardableResult
    package nonisolated(nonsending) func withConnection<T: Sendable>(_ body: (Connection) async throws -> T) async throws -> T {
        let connection = try await acquire()
        defer { giveBack(connection) }
        return try await body(connection)
    }

    /// Lends a transaction on a connection of the pool; see ``Connection/withTransaction(_:)``.
    @discardableResult
    package nonisolated(nonsending) func withTransaction<T: Sendable>(_ body: (Transaction) async throws -> T) async throws -> T {
        try await withConnection { connection in try await connection.withTransaction(body) }
    }

    /// Refuses new work, closes what is idle, and returns when everything lent has come back.
    package func close() async {
        let (idle, waiters) = state.withLock { $0.close() }
        for waiter in waiters { waiter.resume(throwing: PostgresError.poolClosed) }
        for connection in idle { await connection.close() }
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
        while let grant = state.withLock({ $0.acquire() }) {
            guard case .resource(let connection) = grant else { return try await inTime(.connectionFailed) { try await self.open() } }
            if connection.isReusable { return connection }
            logger.notice("connection died while idle")
            discard(connection)
        }
        return try await inTime(.poolExhausted) { try await self.takeTurn(Ticket()) }
    }

    /// Waits in line for a connection, or for the right to open one.
    private func takeTurn(_ ticket: Ticket) async throws -> Connection {
        let grant = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                switch state.withLock({ $0.wait(continuation, ticket) }) {
                case .granted(let grant): continuation.resume(returning: grant)
                case .waiting: break
                case .cancelled: continuation.resume(throwing: CancellationError())
                case .closed: continuation.resume(throwing: PostgresError.poolClosed)
                }
            }
        } onCancel: {
            ticket.cancel()
            state.withLock { $0.withdraw(ticket) }?.resume(throwing: CancellationError())
        }
        if case .resource(let connection) = grant, connection.isReusable { return connection }
        return try await open()
    }

    /// Opens a connection in a slot that the task holds.
    ///
    /// An attempt that is abandoned keeps its slot until its thread is gone: a host that does not answer must not collect threads.
    private func open() async throws -> Connection {
        let connection: Connection
        do {
            connection = try Connection.start(options, logger: logger)
        } catch {
            tally.withLock { $0.failed += 1 }
            releaseSlot()
            throw error
        }
        do {
            try await connection.awaitOpening()
            tally.withLock { $0.opened += 1 }
            return connection
        } catch {
            tally.withLock { $0.failed += 1 }
            connection.whenEnded { self.releaseSlot() }
            throw error
        }
    }

    /// Races `acquire` against the acquire timeout, whose passing is an error of that code.
    private func inTime(
        _ code: PostgresError.Code,
        _ acquire: @escaping @Sendable () async throws -> Connection
    ) async throws -> Connection {
        let timeout = configuration.acquireTimeout
        let outcomes = await withTaskGroup(of: Result<Connection?, any Error>.self) { group in
            group.addTask { await Result { try await acquire() } }
            group.addTask { await Result { try await Task.sleep(for: timeout) }.map { nil } }
            let first = await group.next()
            group.cancelAll()
            return [first, await group.next()].compactMap(\.self)
        }
        // A connection may come in the same instant as the timeout or a cancellation; then it must not be lost.
        for case .success(let connection?) in outcomes { return connection }
        if case .failure(let error) = outcomes.first { throw error }
        throw PostgresError(code, "no connection within \(timeout); the limit is \(configuration.maxConnections)")
    }

    private func giveBack(_ connection: Connection) {
        guard connection.isReusable else { return discard(connection) }
        let change = state.withLock { $0.restore(connection, at: .now) }
        if case .discard = change { connection.abandon() }
        carryOut(change)
    }

    private func discard(_ connection: Connection) {
        tally.withLock { $0.lost += 1 }
        connection.abandon()
        releaseSlot()
    }

    private func releaseSlot() {
        carryOut(state.withLock { $0.release() })
    }

    private func carryOut(_ change: State.Return) {
        if case .pass(let waiter, let grant) = change { waiter.resume(returning: grant) }
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
