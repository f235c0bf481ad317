import CLibPQ
import Logging

/// What runs on a connection's thread: connect, then carry out what the mailbox brings, until it is closed or the server goes.
struct ConnectionThread: ~Copyable {
    let mailbox: Mailbox
    let options: ConnectionOptions
    let logger: Logger
    let link: ServerLink
    var prepared: PreparedStatements
    var active: TransactionToken?

    /// Enough for every statement of a program; a bound, so that generated SQL cannot fill the server's memory.
    private static let planLimit = 256

    static func start(_ options: ConnectionOptions, mailbox: Mailbox, logger: Logger) throws(PostgresError) {
        try DetachedThread.start(named: "postgres") {
            do throws(PostgresError) {
                let end = try serve(options, mailbox: mailbox, logger: logger)
                logger.debug("connection ended", metadata: [LogKey.reason: "\(end)"])
                mailbox.end(end)
            } catch {
                mailbox.end(error)
            }
        }
    }

    /// Returns why the connection ended. The handle is freed on return, before anybody is told.
    private static func serve(_ options: ConnectionOptions, mailbox: Mailbox, logger: Logger) throws(PostgresError) -> PostgresError {
        let link = try ServerLink(connecting: options.parameters, notices: NoticeCollector(logger: logger))
        guard mailbox.opened(socket: link.socket) else { return .connectionClosed }
        var thread = ConnectionThread(
            mailbox: mailbox,
            options: options,
            logger: logger,
            link: link,
            prepared: PreparedStatements(limit: options.prepared ? planLimit : 0)
        )
        let end = thread.serve()
        // While the handle still holds the number: once it is freed, the number may belong to something else.
        mailbox.forgetSocket()
        return end
    }

    private mutating func serve() -> PostgresError {
        do throws(PostgresError) {
            while true {
                switch mailbox.next() {
                case .close: return .connectionClosed
                case .nothing: try idle()
                case .request(let request): try perform(request)
                }
            }
        } catch {
            return error
        }
    }

    /// Waits for work, and notices when the server says or does something meanwhile.
    private func idle() throws(PostgresError) {
        guard try SocketWait.wait(socket: link.socket, bell: mailbox.bell, writes: false, until: nil) == .socket else { return }
        // Until it is known what has come, the connection must not be lent: it may be the server's farewell.
        mailbox.settle(isIdle: false, isSpoiled: false)
        try link.consumeInput()
        // libpq parses what it has read only when somebody asks for the state.
        _ = link.isBusy
        guard link.isAlive, link.notices.farewell == nil else { throw link.lost() }
        mailbox.settle(isIdle: link.transactionStatus == PQTRANS_IDLE, isSpoiled: false)
    }

    /// Carries out one request.
    ///
    /// - Throws: Why the connection has to be given up, after the request has got its outcome.
    private mutating func perform(_ request: Request) throws(PostgresError) {
        link.notices.forgetWarnings()
        let outcome: Result<[Rows], any Error>
        var end: PostgresError?
        var isUnanswered = false
        do throws(ExchangeFailure) {
            outcome = .success(try carryOut(request))
        } catch {
            outcome = .failure(error.cause)
            isUnanswered = error.isUnanswered
            if error.endsConnection { end = .connectionGivenUp(after: error.cause) }
        }
        if end == nil, !link.isAlive { end = link.lost() }
        // First the state, then the outcome: whoever gets it gives the connection back to a pool, which looks at the state.
        mailbox.settle(isIdle: link.transactionStatus == PQTRANS_IDLE, isSpoiled: end != nil || outcome.spoilsConnection)
        if isUnanswered, let end { mailbox.outlast(end) }
        request.resume(outcome)
        if isUnanswered { outlastAnswer() }
        if let end { throw end }
    }
}

extension Result<[Rows], any Error> {
    fileprivate var spoilsConnection: Bool {
        if case .failure(let error as PostgresError) = self { return error.spoilsConnection }
        return false
    }
}
