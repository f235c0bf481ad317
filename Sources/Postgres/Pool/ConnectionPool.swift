package import Logging
import ServiceLifecycle
import Synchronization

/// Lends connections to tasks, first come first served, and opens them when they are needed.
///
/// A connection that broke, timed out, was left in a transaction, or died while it was idle is not lent again; while the server still has to
/// answer its COMMIT, it keeps its slot, unless that is the last one, so that few of them are left behind. One whose opening takes
/// longer than the task that needed it can wait is not given up: it is lent to the next one.
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

    /// How long one exchange with the server may take, a COMMIT and what travels with it included.
    package var statementDeadline: Duration { options.statementDeadline }

    /// What has happened to the connections so far.
    package var counts: Counts { tally.withLock(\.self) }

    /// What its slots hold now.
    package var slots: Slots { state.withLock(\.slots) }

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
    /// - Throws: What `body` throws; ``PostgresError/Code/connectionFailed`` if a new connection is needed and cannot be made, or is not
    ///   there in time, or if ``Configuration/check`` refuses it; ``PostgresError/Code/poolExhausted`` if none became free in time.
    @discardableResult
    package nonisolated(nonsending) func withConnection<T: Sendable>(_ body: (Connection) async throws -> T) async throws -> T {
        let connection = try await acquire()
        defer { giveBack(connection) }
        try await connection.sendOpening()
        try await configuration.check(connection)
        return try await body(connection)
    }

    /// Lends a transaction on a connection of the pool; see ``Connection/withTransaction(_:)``.
    @discardableResult
    package nonisolated(nonsending) func withTransaction<T: Sendable>(_ body: (Transaction) async throws -> T) async throws -> T {
        try await withConnection { connection in try await connection.withTransaction(body) }
    }

    /// Refuses new work, closes what is idle, and returns when everything lent has come back and nothing is being opened any more.
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
        return try await inTime {
            while true {
                let connection = try await self.takeTurn(Ticket())
                if connection.isReusable { return connection }
                self.discard(connection)
            }
        }
    }

    /// Waits in line for a connection: one that comes back, or one that has been opened.
    private func takeTurn(_ ticket: Ticket) async throws -> Connection {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                switch state.withLock({ $0.wait(continuation, ticket) }) {
                case .granted(let connection): continuation.resume(returning: connection)
                case .waiting(let opens): if opens { open() }
                case .cancelled: continuation.resume(throwing: CancellationError())
                case .closed: continuation.resume(throwing: PostgresError.poolClosed)
                }
            }
        } onCancel: {
            ticket.cancel()
            state.withLock { $0.withdraw(ticket) }?.resume(throwing: CancellationError())
        }
    }

    /// Begins to open a connection in a slot that it has been given. The pool waits for it, even when the task that needed it has given up.
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
        place(connection, state.withLock { $0.opened(connection, at: .now) })
    }

    private func openingFailed(_ error: any Error) {
        tally.withLock { $0.failed += 1 }
        let vacancy = state.withLock { $0.openingFailed() }
        if let waiter = vacancy.refused {
            waiter.resume(throwing: error)
        } else {
            // The task that needed it was only told that it takes too long.
            logger.warning("connection could not be opened", metadata: [LogKey.error: "\(error)"])
        }
        fill(vacancy)
    }

    /// Races `acquire` against the acquire timeout.
    private func inTime(_ acquire: @escaping @Sendable () async throws -> Connection) async throws -> Connection {
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
        let code: PostgresError.Code = state.withLock { $0.openings > 0 } ? .connectionFailed : .poolExhausted
        throw PostgresError(code, "no connection within \(timeout); the limit is \(configuration.maxConnections)")
    }

    private func giveBack(_ connection: Connection) {
        guard connection.isReusable else { return discard(connection) }
        place(connection, state.withLock { $0.restore(connection, at: .now) })
    }

    private func discard(_ connection: Connection) {
        tally.withLock { $0.lost += 1 }
        if connection.isOutlasting, let retirement = state.withLock({ $0.retire(connection) }) {
            logger.warning("COMMIT is not answered; no other connection takes the place of this one until it is")
            connection.whenEnded { [weak self] in
                guard let self else { return }
                fill(state.withLock { $0.ended(retirement) })
            }
            return
        }
        connection.abandon()
        fill(state.withLock { $0.lost() })
    }

    /// Does with a connection what the state says.
    private func place(_ connection: Connection, _ change: State.Return) {
        switch change {
        case .keep: break
        case .discard: connection.abandon()
        case .pass(let waiter): waiter.resume(returning: connection)
        }
        tellDrained()
    }

    private func fill(_ vacancy: State.Vacancy) {
        if vacancy.opens { open() }
        tellDrained()
    }

    private func tellDrained() {
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
