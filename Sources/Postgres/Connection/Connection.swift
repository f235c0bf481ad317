package import Logging
import Synchronization

/// One connection to PostgreSQL, on its own thread, so that waiting for the database blocks none of Swift's threads.
///
/// Statements of concurrent tasks run one after the other, in the order of the calls. A call returns at once when its task is cancelled
/// or ``ConnectionOptions/statementDeadline`` passes. The server is then asked to cancel the statement, and the connection is closed,
/// because its next answer could belong to that statement. A COMMIT is not cancelled; its connection stays open until the server answers.
package final class Connection: Sendable {
    private let requests: RequestQueue
    private let started = Atomic(0)
    private let completed = Atomic(0)
    private let checkedAt = Mutex<ContinuousClock.Instant?>(nil)
    /// ``ConnectionOptions/opening``; nil once the server has run it.
    private let opening: Mutex<Statement?>

    private init(requests: RequestQueue, opening: Statement?) {
        self.requests = requests
        self.opening = Mutex(opening)
    }

    deinit {
        requests.close()
    }

    /// Connects to the first host that accepts and has the required session attributes.
    ///
    /// - Throws: ``PostgresError/Code/connectionFailed``, with the answer of each host.
    package static func open(_ options: ConnectionOptions, logger: Logger) async throws -> Connection {
        let connection = try start(options, logger: logger)
        try await connection.requests.awaitOpening()
        try await connection.sendOpening()
        return connection
    }

    /// Starts connecting and returns at once.
    static func start(_ options: ConnectionOptions, logger: Logger) throws(PostgresError) -> Connection {
        let requests = try RequestQueue()
        try ConnectionThread.start(options, requests: requests, logger: logger)
        return Connection(requests: requests, opening: options.opening)
    }

    /// Runs `action` when the connection is open, or when connecting has failed and its resources are freed.
    func whenOpened(_ action: @escaping RequestQueueState.OpenHandler) {
        requests.whenOpened(action)
    }

    /// Sends ``ConnectionOptions/opening``, unless the server has already run it. Not for concurrent calls.
    func sendOpening() async throws {
        guard let statement = opening.withLock(\.self) else { return }
        _ = try await query(statement)
        opening.withLock { $0 = nil }
    }

    /// Runs one statement and returns its rows.
    package func query(_ statement: Statement) async throws -> Rows {
        try await run([statement], in: nil)[0]
    }

    /// Runs one statement and returns the number of affected rows.
    @discardableResult
    package func execute(_ statement: Statement) async throws -> Int {
        try await query(statement).affectedRows
    }

    /// Runs statements in one round trip, as one implicit transaction: after an error none of them has an effect.
    ///
    /// - Throws: The error of the first statement that failed.
    package func pipeline(_ statements: [Statement]) async throws -> [Rows] {
        try await run(statements, in: nil)
    }

    /// Runs a text of many statements, such as a migration, in the simple protocol. It may contain BEGIN and COMMIT, but no COPY.
    package func runScript(_ sql: String) async throws {
        guard !sql.utf8.contains(0) else { throw PostgresError(.invalidBind, "the script contains a NUL character") }
        _ = try await perform(.script(sql))
    }

    /// Closes the connection after the statement in flight, and returns when its resources are freed.
    package func close() async {
        requests.close()
        await withCheckedContinuation { continuation in requests.whenEnded { continuation.resume() } }
    }

    /// Closes the connection without waiting for the end of it.
    func abandon() {
        requests.close()
    }

    /// Whether a COMMIT was not answered in time. The connection takes no more statements and closes when the answer arrives.
    var isAwaitingCommit: Bool { requests.isAwaitingCommit }

    /// Runs `action` once the connection's resources are freed.
    func whenEnded(_ action: @escaping @Sendable () -> Void) {
        requests.whenEnded(action)
    }

    /// Whether the connection is alive and outside any transaction, as far as known without a round trip.
    package var isReusable: Bool { requests.isReusable }

    /// Whether ``ConnectionPool/Configuration/check`` has not accepted the connection within the last `interval`.
    func isCheckDue(after interval: Duration) -> Bool {
        checkedAt.withLock { $0.map { .now - $0 > interval } ?? true }
    }

    /// Records that ``ConnectionPool/Configuration/check`` has accepted the connection.
    func markChecked() {
        checkedAt.withLock { $0 = .now }
    }

    fileprivate func run(_ statements: [Statement], in token: TransactionToken?) async throws -> [Rows] {
        guard !statements.isEmpty else { return [] }
        for statement in statements { try statement.validate() }
        return try await perform(.statements(statements, token))
    }

    private func finish(_ exchange: Exchange) async throws {
        _ = try await perform(exchange)
    }

    /// Completed round trips; nil while one is in flight.
    fileprivate var exchanges: Int? {
        let completed = completed.load(ordering: .acquiring)
        return started.load(ordering: .acquiring) == completed ? completed : nil
    }

    private func perform(_ exchange: Exchange) async throws -> [Rows] {
        started.add(1, ordering: .releasing)
        defer { completed.add(1, ordering: .releasing) }
        return try await requests.perform(exchange)
    }

    /// Runs `body` in a transaction that is committed when it returns, and rolled back when it throws or its task was cancelled.
    ///
    /// BEGIN is sent with the first statement; a transaction without statements sends nothing.
    ///
    /// - Throws: What `body` throws, `CancellationError`, or the error of COMMIT: ``PostgresError/Code/sql`` if it was refused, such as by a deferred
    ///   constraint, ``PostgresError/Code/rolledBack`` if `body` swallowed an error, ``PostgresError/Code/commitUncertain`` if
    ///   its outcome is unknown.
    @discardableResult
    package nonisolated(nonsending) func withTransaction<T: Sendable>(_ body: (Transaction) async throws -> T) async throws -> T {
        let token = TransactionToken()
        let value: T
        do {
            value = try await body(Transaction(connection: self, token: token))
            try Task.checkCancellation()
        } catch {
            await rollBack(token)
            throw error
        }
        try await finish(.commit(token))
        return value
    }

    /// Rolls back after an error that the caller rethrows. If the rollback fails, closing the connection ends the transaction.
    private func rollBack(_ token: TransactionToken) async {
        do {
            try await finish(.rollback(token))
        } catch {
            abandon()
        }
    }
}

/// A transaction that is open for the length of a closure; see ``Connection/withTransaction(_:)``.
///
/// After an error the server refuses further statements until the transaction ends.
package struct Transaction: Sendable {
    fileprivate let connection: Connection
    fileprivate let token: TransactionToken

    /// Runs one statement and returns its rows.
    package func query(_ statement: Statement) async throws -> Rows {
        try await connection.run([statement], in: token)[0]
    }

    /// Runs one statement and returns the number of affected rows.
    @discardableResult
    package func execute(_ statement: Statement) async throws -> Int {
        try await query(statement).affectedRows
    }

    /// Runs statements in one round trip.
    ///
    /// - Throws: The error of the first statement that failed; those after it were not run.
    package func pipeline(_ statements: [Statement]) async throws -> [Rows] {
        try await connection.run(statements, in: token)
    }

    /// Sends `statements` together with COMMIT, which saves a round trip. Their rows are discarded.
    ///
    /// No other statement may follow them in the transaction. If one fails, the transaction is rolled back and
    /// ``ConnectionPool/withTransaction(_:)`` throws its error.
    package func append(toCommit statements: [Statement]) throws {
        for statement in statements { try statement.validate() }
        token.append(toCommit: statements)
    }

    /// Completed round trips; nil while one is in flight. Unchanged for long means that the task in the transaction is computing.
    package var exchanges: Int? { connection.exchanges }
}

/// The state of one transaction: what is still to be sent, and whether it has ended.
///
/// BEGIN is sent with the first statement, so it costs no extra round trip.
final class TransactionToken: Sendable {
    private struct State {
        /// Each statement must see what other sessions have committed, such as a retry after a conflict, whatever the database's default
        /// isolation level is.
        var begin: Statement? = "BEGIN ISOLATION LEVEL READ COMMITTED"
        var commitStatements: [Statement] = []
        var hasEnded = false
    }

    private let state = Mutex(State())

    /// Takes BEGIN before the first statement. Called on the connection's thread only, which keeps the order.
    func takeBegin() throws(PostgresError) -> [Statement] {
        try state.withLock { state throws(PostgresError) in
            guard !state.hasEnded else { throw PostgresError(.misuse, "the transaction has ended") }
            defer { state.begin = nil }
            return state.begin.map { [$0] } ?? []
        }
    }

    /// Sends `statements` together with COMMIT.
    func append(toCommit statements: [Statement]) {
        state.withLock { $0.commitStatements += statements }
    }

    /// Takes the statements to send with COMMIT.
    func takeCommitStatements() -> [Statement] {
        state.withLock { state in
            defer { state.commitStatements.removeAll() }
            return state.commitStatements
        }
    }

    /// Ends the transaction; returns whether BEGIN was taken for sending and the transaction had not ended yet.
    func end() -> Bool {
        state.withLock { state in
            defer { state.hasEnded = true }
            return state.begin == nil && !state.hasEnded
        }
    }
}
