import CLibPQ
import Glibc
import Logging
import ServiceSupport

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
        do throws(ThreadError) {
            try DetachedThread.start(named: "postgres-cancel") { request.send() }
        } catch {
            throw PostgresError(error)
        }
    }

    /// Queues one step of a pipeline without blocking: libpq buffers what the socket does not accept.
    func send(_ step: PipelineStep) throws(PostgresError) {
        let statement = step.statement
        let accepted =
            switch step.command {
            case .flush:
                PQsendFlushRequest(connection)
            case .synchronize:
                PQpipelineSync(connection)
            case .prepare(let name):
                PQsendPrepare(connection, name, statement.sql, Int32(statement.binds.count), statement.binds.types)
            case .execute(let name):
                Self.withParameters(statement.binds) { values, lengths, formats in
                    PQsendQueryPrepared(connection, name, Int32(statement.binds.count), values, lengths, formats, 1)
                }
            case .query:
                Self.withParameters(statement.binds) { values, lengths, formats in
                    let count = Int32(statement.binds.count)
                    return PQsendQueryParams(connection, statement.sql, count, statement.binds.types, values, lengths, formats, 1)
                }
            }
        guard accepted == 1 else { throw lost() }
    }

    /// Queues a text of many statements, in the simple protocol. Not allowed in pipeline mode.
    func send(script: String) throws(PostgresError) {
        guard PQsendQuery(connection, script) == 1 else { throw lost() }
    }

    private static func withParameters(
        _ binds: Binds,
        _ body: ([UnsafePointer<CChar>?], [Int32], [Int32]) -> Int32
    ) -> Int32 {
        binds.buffer.bytes.withUnsafeBytes { bytes in
            // An empty value needs an address too: a null pointer means NULL to libpq.
            let base = bytes.baseAddress ?? UnsafeRawPointer(StaticString("").utf8Start)
            let values = binds.ranges.map { range in
                range.map { base.advanced(by: $0.lowerBound).assumingMemoryBound(to: CChar.self) }
            }
            let lengths = binds.ranges.map { Int32($0?.count ?? 0) }
            return body(values, lengths, [Int32](repeating: 1, count: binds.count))
        }
    }
}

/// A null-terminated array of C strings that is freed with this object.
private final class CStringArray {
    let pointers: [UnsafePointer<CChar>?]

    init(_ strings: [String]) {
        pointers = strings.map { UnsafePointer(strdup($0)) } + [nil]
    }

    deinit {
        for pointer in pointers { free(UnsafeMutablePointer(mutating: pointer)) }
    }
}

/// Owner of one `PGcancel`.
///
/// Unchecked: a `PGcancel` is a copy of the connection's data that libpq allows any thread to use; here one thread uses it once.
private final class CancelRequest: @unchecked Sendable {
    private let handle: OpaquePointer

    init(taking handle: OpaquePointer) {
        self.handle = handle
    }

    deinit {
        PQfreeCancel(handle)
    }

    /// Sends the request, blocking. Its result is ignored: the caller has already closed the connection.
    func send() {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
            _ = PQcancel(handle, message.baseAddress, Int32(message.count))
        }
    }
}

/// Receives the server's notices. Confined to the connection's thread, like the PGconn that calls it.
final class NoticeCollector {
    /// A server message that is not the result of a statement.
    struct Notice {
        let severity: String
        let sqlState: SQLState
        let message: String
        /// The C function of the server that raised it.
        let routine: String
    }

    private(set) var warnings: [Notice] = []
    /// Why the server closes the connection; a notice if no statement is in flight.
    private(set) var fatalNotice: Notice?
    private let logger: Logger
    private let logsTexts: Bool

    /// - Parameter logsTexts: as ``ConnectionOptions/logsNotices``.
    init(logger: Logger, logsTexts: Bool) {
        self.logger = logger
        self.logsTexts = logsTexts
    }

    func removeWarnings() {
        warnings.removeAll()
    }

    /// Registers this object with `connection`, which must not outlive it.
    fileprivate func listen(to connection: OpaquePointer) {
        PQsetNoticeReceiver(
            connection,
            { context, result in
                guard let context, let result else { return }
                Unmanaged<NoticeCollector>.fromOpaque(context).takeUnretainedValue().receive(result)
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// Borrows `result`, which libpq frees after the call.
    private func receive(_ result: OpaquePointer) {
        func text(_ field: Int32) -> String { PQresultErrorField(result, field).map { String(cString: $0) } ?? "" }
        let notice = Notice(
            severity: text(clibpq_severity),
            sqlState: SQLState(rawValue: text(clibpq_sqlstate)),
            message: text(clibpq_message_primary),
            routine: text(clibpq_source_function)
        )
        switch notice.severity {
        case "WARNING": warnings.append(notice)
        case "FATAL", "PANIC": fatalNotice = notice
        default: break
        }
        var metadata: Logger.Metadata = [LogKey.severity: "\(notice.severity)", LogKey.sqlState: "\(notice.sqlState)"]
        // RAISE of PL/pgSQL. Other notices tell what IF EXISTS and CASCADE have done.
        let isMeant = notice.severity == "WARNING" || notice.routine == "exec_stmt_raise"
        guard logsTexts, isMeant else { return logger.debug("server notice", metadata: metadata) }
        metadata[LogKey.message] = "\(notice.message)"
        logger.notice("server notice", metadata: metadata)
    }
}
