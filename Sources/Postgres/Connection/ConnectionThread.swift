import CLibPQ
import Logging

/// The body of a connection's thread: connects, then serves the request queue until it is closed or the connection is lost.
struct ConnectionThread: ~Copyable {
    let requests: RequestQueue
    let options: ConnectionOptions
    let logger: Logger
    let connection: LibpqConnection
    var prepared: PreparedStatements
    var active: TransactionToken?
    /// Whether the server may be committing: everything before the commit has been sent or answered.
    var isCommitting = false

    /// Enough for every statement of a program. The limit keeps generated SQL from filling the server's memory.
    private static let planLimit = 256

    static func start(_ options: ConnectionOptions, requests: RequestQueue, logger: Logger) throws(PostgresError) {
        try DetachedThread.start(named: "postgres") {
            do throws(PostgresError) {
                let end = try serve(options, requests: requests, logger: logger)
                logger.debug("connection ended", metadata: [LogKey.reason: "\(end)"])
                requests.end(end)
            } catch {
                requests.end(error)
            }
        }
    }

    /// Returns why the connection ended. The handle is freed on return, before the request queue reports the end.
    private static func serve(_ options: ConnectionOptions, requests: RequestQueue, logger: Logger) throws(PostgresError) -> PostgresError {
        let notices = NoticeCollector(logger: logger, logsTexts: options.logsNotices)
        let connection = try LibpqConnection(connecting: options.parameters, notices: notices)
        guard requests.opened(socket: connection.socket) else { return .connectionClosed }
        var thread = ConnectionThread(
            requests: requests,
            options: options,
            logger: logger,
            connection: connection,
            prepared: PreparedStatements(limit: options.prepared ? planLimit : 0)
        )
        let end = thread.serve()
        // Before the handle is freed: afterwards its descriptor number may be reused.
        requests.clearSocket()
        return end
    }

    private mutating func serve() -> PostgresError {
        do throws(PostgresError) {
            while true {
                switch requests.next() {
                case .close: return .connectionClosed
                case .nothing: try idle()
                case .request(let request): try perform(request)
                }
            }
        } catch {
            return error
        }
    }

    /// Waits for a request, and handles messages of the server in the meantime.
    private func idle() throws(PostgresError) {
        guard try SocketPoll.wait(socket: connection.socket, wakeup: requests.wakeup, writes: false, until: nil) == .socket else { return }
        // The pool must not lease the connection before this input is read: it may be a fatal notice.
        requests.settle(isIdle: false, isReusePrevented: false)
        try connection.consumeInput()
        // PQisBusy makes libpq parse its input.
        _ = connection.isBusy
        guard connection.isAlive, connection.notices.fatalNotice == nil else { throw connection.lost() }
        requests.settle(isIdle: connection.transactionStatus == PQTRANS_IDLE, isReusePrevented: false)
    }

    /// Runs one request.
    ///
    /// - Throws: Why the connection must be closed; the request has its outcome by then.
    private mutating func perform(_ request: Request) throws(PostgresError) {
        connection.notices.removeWarnings()
        let outcome: Result<[Rows], any Error>
        var end: PostgresError?
        var isUnanswered = false
        do throws(ExchangeFailure) {
            outcome = .success(try carryOut(request))
        } catch {
            outcome = .failure(error.cause)
            isUnanswered = error.isUnanswered
            if error.endsConnection { end = .connectionAbandoned(after: error.cause) }
        }
        if end == nil, !connection.isAlive { end = connection.lost() }
        // Publish the state before resuming: the caller may return the connection, and the pool checks `isReusable`.
        requests.settle(isIdle: connection.transactionStatus == PQTRANS_IDLE, isReusePrevented: end != nil || outcome.preventsReuse)
        if isUnanswered, let end { requests.startAwaitingCommit(end) }
        request.resume(outcome)
        if isUnanswered { awaitCommitAnswer() }
        if let end { throw end }
    }
}

extension Result<[Rows], any Error> {
    fileprivate var preventsReuse: Bool {
        if case .failure(let error as PostgresError) = self { return error.preventsReuse }
        return false
    }
}
