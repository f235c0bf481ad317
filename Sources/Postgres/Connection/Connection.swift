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

    func run(_ statements: [Statement], in token: TransactionToken?) async throws -> [Rows] {
        guard !statements.isEmpty else { return [] }
        for statement in statements { try statement.validate() }
        return try await perform(.statements(statements, token))
    }

    func finish(_ exchange: Exchange) async throws {
        _ = try await perform(exchange)
    }

    /// Completed round trips; nil while one is in flight.
    var exchanges: Int? {
        let completed = completed.load(ordering: .acquiring)
        return started.load(ordering: .acquiring) == completed ? completed : nil
    }

    private func perform(_ exchange: Exchange) async throws -> [Rows] {
        started.add(1, ordering: .releasing)
        defer { completed.add(1, ordering: .releasing) }
        return try await requests.perform(exchange)
    }
}
