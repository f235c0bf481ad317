import CLibPQ

/// The owner of a `PGconn` in non-blocking pipeline mode. Confined to the connection's thread.
struct LibpqConnection: ~Copyable {
    private let connection: OpaquePointer
    let notices: NoticeCollector

    /// Connects, blocking the calling thread. PQconnectPoll would ignore `connect_timeout` and not skip a silent host.
    init(connecting settings: [ConnectionSetting], notices: NoticeCollector) throws(PostgresError) {
        let connection = try Self.connect(settings)
        // Without a receiver libpq writes notices to stderr.
        notices.listen(to: connection)
        guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else {
            defer { PQfinish(connection) }
            throw PostgresError(.connectionFailed, String(cString: PQerrorMessage(connection)))
        }
        self.connection = connection
        self.notices = notices
    }

    deinit {
        PQfinish(connection)
    }

    private static func connect(_ settings: [ConnectionSetting]) throws(PostgresError) -> OpaquePointer {
        let keywords = CStringArray(settings.map(\.keyword))
        let values = CStringArray(settings.map(\.value))
        guard let connection = PQconnectdbParams(keywords.pointers, values.pointers, 0) else {
            throw PostgresError(.connectionFailed, "out of memory")
        }
        guard PQstatus(connection) == CONNECTION_OK else {
            defer { PQfinish(connection) }
            // One line per host that was tried; indented lines are hints.
            let lines = String(cString: PQerrorMessage(connection)).split(whereSeparator: \.isNewline)
            throw PostgresError(.connectionFailed, lines.filter { !$0.hasPrefix("\t") }.joined(separator: "; "))
        }
        return connection
    }

    var socket: Int32 { PQsocket(connection) }
    var isAlive: Bool { PQstatus(connection) == CONNECTION_OK }
    var transactionStatus: PGTransactionStatusType { PQtransactionStatus(connection) }
    /// Whether an answer is not yet complete, so that ``nextResult()`` would block.
    var isBusy: Bool { PQisBusy(connection) == 1 }

    /// Writes buffered data to the socket; returns whether some is left.
    func flush() -> Bool {
        // After a failed write (-1) the caller still reads: the server's error message says more than EPIPE.
        PQflush(connection) == 1
    }

    /// Reads what has arrived on the socket.
    func consumeInput() throws(PostgresError) {
        guard PQconsumeInput(connection) == 1 else { throw terminationReason() ?? lost() }
    }

    /// The server's reason, if it arrived together with the end of the connection.
    private func terminationReason() -> PostgresError? {
        guard !isBusy, let result = nextResult(), result.status == PGRES_FATAL_ERROR else { return nil }
        let error = PostgresError(result, statementName: nil)
        return error.sqlState == nil ? nil : error
    }

    /// The next result of the current command, or nil at its end.
    func nextResult() -> ResultHandle? {
        PQgetResult(connection).map(ResultHandle.init(taking:))
    }

    func enterPipelineMode() throws(PostgresError) {
        guard PQenterPipelineMode(connection) == 1 else { throw lost() }
    }

    func exitPipelineMode() throws(PostgresError) {
        guard PQexitPipelineMode(connection) == 1 else { throw lost() }
    }

    /// Why the connection is lost: the server's fatal notice, or libpq's error.
    func lost() -> PostgresError {
        if let notice = notices.fatalNotice {
            return PostgresError(.connectionLost, notice.message, sqlState: notice.sqlState, severity: notice.severity)
        }
        let message = PostgresError.firstLine(of: String(cString: PQerrorMessage(connection)))
        return PostgresError(.connectionLost, message.isEmpty ? "the connection ended" : message)
    }

    /// Asks the server to cancel the running statement, on a new connection and thread.
    func requestCancel() throws(PostgresError) {
        guard let handle = PQgetCancel(connection) else { return }
        let request = CancelRequest(taking: handle)
        try DetachedThread.start(named: "postgres-cancel") { request.send() }
    }

    /// Passes `body` the raw connection, for the calls in extensions of this type.
    func withConnection<T>(_ body: (OpaquePointer) throws(PostgresError) -> T) throws(PostgresError) -> T {
        try body(connection)
    }
}
