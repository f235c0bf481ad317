package import Logging
import Synchronization

/// One connection to PostgreSQL, on a thread of its own, so that waiting for the database blocks none of Swift's threads.
///
/// Statements of concurrent tasks are carried out one after the other, in the order in which they were asked for. A task that is
/// cancelled, or waits longer than ``ConnectionOptions/statementDeadline``, is set free at once: the server is asked to cancel the
/// statement and the connection is given up, since its next answer could be about that statement. A COMMIT is not cancelled; its connection
/// stays until the server has answered.
package final class Connection: Sendable {
    private let mailbox: Mailbox
    private let asked = Atomic(0)
    private let answered = Atomic(0)
    private let checkedAt = Mutex<ContinuousClock.Instant?>(nil)
    /// ``ConnectionOptions/opening``, until the server has carried it out.
    private let opening: Mutex<Statement?>

    private init(mailbox: Mailbox, opening: Statement?) {
        self.mailbox = mailbox
        self.opening = Mutex(opening)
    }

    deinit {
        mailbox.close()
    }

    /// Connects to the first of the hosts that accepts and has the wanted session attributes.
    ///
    /// - Throws: ``PostgresError/Code/connectionFailed``, with what each host answered.
    package static func open(_ options: ConnectionOptions, logger: Logger) async throws -> Connection {
        let connection = try start(options, logger: logger)
        try await connection.mailbox.awaitOpening()
        try await connection.sendOpening()
        return connection
    }

    /// Begins to connect.
    static func start(_ options: ConnectionOptions, logger: Logger) throws(PostgresError) -> Connection {
        let mailbox = try Mailbox()
        try ConnectionThread.start(options, mailbox: mailbox, logger: logger)
        return Connection(mailbox: mailbox, opening: options.opening)
    }

    /// Runs `action` when the connection is there, or when nothing is left of it because it could not be made.
    func whenOpened(_ action: @escaping MailboxState.Opening) {
        mailbox.whenOpened(action)
    }

    /// Sends ``ConnectionOptions/opening``, unless the server has carried it out. One task at a time may call this.
    func sendOpening() async throws {
        guard let statement = opening.withLock(\.self) else { return }
        _ = try await query(statement)
        opening.withLock { $0 = nil }
    }

    /// Runs one statement and returns its rows.
    package func query(_ statement: Statement) async throws -> Rows {
        try await run([statement], in: nil)[0]
    }

    /// Runs one statement and returns how many rows it touched.
    @discardableResult
    package func execute(_ statement: Statement) async throws -> Int {
        try await query(statement).affectedRows
    }

    /// Runs statements in one round trip and, outside a transaction, as one: after an error none of them has had an effect.
    ///
    /// - Throws: The error of the first statement that failed.
    package func pipeline(_ statements: [Statement]) async throws -> [Rows] {
        try await run(statements, in: nil)
    }

    /// Runs many statements in one text, such as a migration, in the simple protocol; it may hold BEGIN and COMMIT, but no COPY.
    package func runScript(_ sql: String) async throws {
        guard !sql.utf8.contains(0) else { throw PostgresError(.invalidBind, "the script holds a NUL character") }
        _ = try await ask(.script(sql))
    }

    /// Closes the connection after the statement that is under way, and returns when nothing of it is left.
    package func close() async {
        mailbox.close()
        await withCheckedContinuation { continuation in mailbox.whenEnded { continuation.resume() } }
    }

    /// Closes the connection without waiting for it.
    func abandon() {
        mailbox.close()
    }

    /// Whether it was given up but the server still works for it: a COMMIT was not answered in time. It ends by itself when the answer comes.
    var isOutlasting: Bool { mailbox.isOutlasting }

    /// Runs `action` once nothing is left of the connection.
    func whenEnded(_ action: @escaping @Sendable () -> Void) {
        mailbox.whenEnded(action)
    }

    /// Whether the connection is alive and outside any transaction, as far as can be told without a round trip.
    package var isReusable: Bool { mailbox.isReusable }

    /// Whether ``ConnectionPool/Configuration/check`` has never admitted the connection, or longer ago than `interval`.
    func isCheckDue(after interval: Duration) -> Bool {
        checkedAt.withLock { $0.map { .now - $0 > interval } ?? true }
    }

    /// ``ConnectionPool/Configuration/check`` has admitted the connection.
    func wasChecked() {
        checkedAt.withLock { $0 = .now }
    }

    func run(_ statements: [Statement], in token: TransactionToken?) async throws -> [Rows] {
        guard !statements.isEmpty else { return [] }
        for statement in statements { try statement.validate() }
        return try await ask(.statements(statements, token))
    }

    func finish(_ exchange: Exchange) async throws {
        _ = try await ask(exchange)
    }

    /// How often it was asked something so far, or nil while an answer is due or has not reached the task that asked.
    var exchanges: Int? {
        let answered = answered.load(ordering: .acquiring)
        return asked.load(ordering: .acquiring) == answered ? answered : nil
    }

    private func ask(_ exchange: Exchange) async throws -> [Rows] {
        asked.add(1, ordering: .releasing)
        defer { answered.add(1, ordering: .releasing) }
        return try await mailbox.ask(exchange)
    }
}
