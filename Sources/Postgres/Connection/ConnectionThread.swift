import CLibPQ
import Logging
import ServiceSupport

/// The body of a connection's thread: connects, then serves the request queue until it is closed or the connection is lost.
struct ConnectionThread: ~Copyable {
    private let requests: RequestQueue
    private let options: ConnectionOptions
    private let logger: Logger
    private let connection: LibpqConnection
    private var prepared: PreparedStatements
    private var active: TransactionToken?
    /// Whether the server may be committing: everything before the commit has been sent or answered.
    private var isCommitting = false

    /// Enough for every statement of a program. The limit keeps generated SQL from filling the server's memory.
    private static let planLimit = 256

    static func start(_ options: ConnectionOptions, requests: RequestQueue, logger: Logger) throws(PostgresError) {
        do throws(ThreadError) {
            try DetachedThread.start(named: "postgres") { run(options, requests: requests, logger: logger) }
        } catch {
            throw PostgresError(error)
        }
    }

    private static func run(_ options: ConnectionOptions, requests: RequestQueue, logger: Logger) {
        do throws(PostgresError) {
            let end = try serve(options, requests: requests, logger: logger)
            logger.debug("connection ended", metadata: [LogKey.reason: "\(end)"])
            requests.end(end)
        } catch {
            requests.end(error)
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

extension ConnectionThread {
    private mutating func carryOut(_ request: Request) throws(ExchangeFailure) -> [Rows] {
        isCommitting = false
        switch request.exchange {
        case .statements(let statements, let token):
            return try run(statements, in: token, request)
        case .script(let sql):
            return try run(script: sql, request)
        case .commit(let token):
            return try commit(token, request)
        case .rollback(let token):
            return try rollBack(token, request)
        }
    }

    private mutating func run(
        _ statements: [Statement],
        in token: TransactionToken?,
        _ request: Request
    ) throws(ExchangeFailure) -> [Rows] {
        let control = try claimTransaction(token)
        var steps = connection.transactionStatus == PQTRANS_IDLE ? prepared.takeHousekeeping() : []
        steps += control.map(PipelineStep.control)
        for statement in statements { steps += prepared.steps(for: statement) }
        // The flush has the statements' answers arrive before the commit of an implicit transaction, which may wait for a standby.
        steps += token == nil ? [.flush, .synchronize(.commit)] : [.synchronize(.control)]
        let rows = try cancellingIfAbandoned(request) { thread throws(RoundTripFailure) in try thread.roundTrip(steps, request) }
        try checkStandbys()
        return rows
    }

    /// Makes `token`'s transaction the active one; returns BEGIN if it has not begun.
    private mutating func claimTransaction(_ token: TransactionToken?) throws(ExchangeFailure) -> [Statement] {
        guard active === token || active == nil else {
            throw .refused(PostgresError(.misuse, "a transaction is open on this connection; statements must go through it"))
        }
        guard let token else { return [] }
        do throws(PostgresError) {
            if active != nil, connection.transactionStatus == PQTRANS_IDLE { throw PostgresError.endedByStatement }
            let begin = try token.takeBegin()
            active = token
            return begin
        } catch {
            throw .refused(error)
        }
    }

    private mutating func run(script: String, _ request: Request) throws(ExchangeFailure) -> [Rows] {
        guard active == nil else {
            throw .refused(PostgresError(.misuse, "a transaction is open on this connection; a script cannot run in it"))
        }
        isCommitting = script == "COMMIT"
        let rows = try cancellingIfAbandoned(request) { thread throws(RoundTripFailure) in try thread.roundTrip(script: script, request) }
        try checkStandbys()
        return rows
    }

    private mutating func rollBack(_ token: TransactionToken, _ request: Request) throws(ExchangeFailure) -> [Rows] {
        guard token.end() else { return [] }
        defer { active = nil }
        guard connection.transactionStatus != PQTRANS_IDLE else { return [] }
        return try cancellingIfAbandoned(request) { thread throws(RoundTripFailure) in
            try thread.roundTrip([.control("ROLLBACK"), .synchronize(.control)], request)
        }
    }

    /// Sends the commit statements, then COMMIT behind its own sync, so that COMMIT's answer concerns nothing else.
    private mutating func commit(_ token: TransactionToken, _ request: Request) throws(ExchangeFailure) -> [Rows] {
        var steps: [PipelineStep]
        do throws(ExchangeFailure) {
            steps = try commitSteps(for: token)
        } catch {
            if token.end() { active = nil }
            throw error
        }
        guard token.end() else { return [] }
        defer { active = nil }
        guard !steps.isEmpty || connection.transactionStatus != PQTRANS_IDLE else { throw .refused(.endedByStatement) }
        steps += [PipelineStep(command: .query, statement: "COMMIT", purpose: .answer), .synchronize(.control)]
        var tag = ""
        isCommitting = true
        do throws(ExchangeFailure) {
            _ = try cancellingIfAbandoned(request) { thread throws(RoundTripFailure) in
                try thread.roundTrip(steps, request) { tag = $0.commandTag }
            }
        } catch {
            guard error.endsConnection else { throw error }
            let cause = error.cause as? PostgresError ?? PostgresError(.commitUncertain, "the task was cancelled")
            var failure = ExchangeFailure.broken(cause.recoded(.commitUncertain, prefix: "the answer to COMMIT was lost"))
            failure.isUnanswered = error.isUnanswered
            throw failure
        }
        guard tag == "COMMIT" else {
            throw .refused(PostgresError(.rolledBack, "COMMIT was answered with \(tag): an error in the transaction was not rethrown"))
        }
        guard let warning = connection.notices.warnings.first else { return [] }
        throw .refused(PostgresError(.commitUncertain, "COMMIT returned a warning: \(warning.message)", sqlState: warning.sqlState))
    }

    private mutating func commitSteps(for token: TransactionToken) throws(ExchangeFailure) -> [PipelineStep] {
        let statements = token.takeCommitStatements()
        guard !statements.isEmpty else { return [] }
        var steps = try claimTransaction(token).map(PipelineStep.control)
        for statement in statements { steps += prepared.steps(for: statement) }
        return steps + [.synchronize(.control)]
    }

    /// Outside a transaction a statement commits at its sync. Only a warning says that the commit did not wait for a synchronous standby.
    private func checkStandbys() throws(ExchangeFailure) {
        guard let warning = connection.notices.warnings.first(where: { $0.routine == "SyncRepWaitForLSN" }) else { return }
        throw .refused(PostgresError(.commitUncertain, "the commit returned a warning: \(warning.message)", sqlState: warning.sqlState))
    }

    /// Runs a round trip; if its task is cancelled or its deadline passes, cancels it on the server too.
    private mutating func cancellingIfAbandoned(
        _ request: Request,
        _ body: (inout ConnectionThread) throws(RoundTripFailure) -> [Rows]
    ) throws(ExchangeFailure) -> [Rows] {
        do throws(RoundTripFailure) {
            return try body(&self)
        } catch {
            switch error {
            case .refused(let error): throw .refused(error)
            case .lost(let error): throw .broken(error)
            case .cancelled:
                throw abandon(CancellationError())
            case .deadlinePassed:
                let code: PostgresError.Code = isCommitting ? .commitUncertain : .timeout
                throw abandon(PostgresError(code, "no answer within \(options.statementDeadline)"))
            }
        }
    }

    /// Stops waiting for an answer. The connection must be closed, because the next answer on it could be that one.
    private func abandon(_ cause: any Error) -> ExchangeFailure {
        var failure = ExchangeFailure.broken(cause)
        // A cancel request would end a commit's wait for the standbys: committed locally, maybe not replicated.
        if isCommitting { failure.isUnanswered = true } else { cancelOnServer() }
        return failure
    }

    private func cancelOnServer() {
        do throws(PostgresError) {
            try connection.requestCancel()
        } catch {
            logger.error("cancel request could not be sent", metadata: [LogKey.error: "\(error)"])
        }
    }
}

extension PostgresError {
    fileprivate static var endedByStatement: PostgresError { PostgresError(.misuse, "the transaction was ended by a statement in it") }
}

extension ConnectionThread {
    /// Sends the steps and reads their answers up to the last sync, so that the connection is usable even after an error.
    ///
    /// - Parameter observe: Called with the result of each of the caller's statements.
    /// - Throws: ``RoundTripFailure/refused(_:)`` with the error of the first statement that failed.
    private mutating func roundTrip(
        _ steps: [PipelineStep],
        _ request: Request,
        observe: (ResultHandle) -> Void = { _ in }
    ) throws(RoundTripFailure) -> [Rows] {
        let deadline = ContinuousClock.now + options.statementDeadline
        do throws(PostgresError) {
            for step in steps { try connection.send(step) }
        } catch {
            throw .lost(error)
        }
        var rows: [Rows] = []
        var failure: PostgresError?
        for step in steps where !step.isFlush {
            isCommitting = isCommitting || (step.purpose == .commit && failure == nil)
            let result = try answer(to: step, request, deadline)
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
                guard step.purpose == .answer else { break }
                observe(result)
                rows.append(Rows(result))
            case PGRES_PIPELINE_SYNC:
                break
            case PGRES_PIPELINE_ABORTED:
                if case .prepare = step.command, let plan = step.plan { prepared.remove(plan) }
            default:
                let error = makeError(from: result, of: step)
                if step.purpose == .housekeeping {
                    logger.debug("statement could not be deallocated", metadata: [LogKey.error: "\(error)"])
                } else {
                    failure = failure ?? error
                }
            }
        }
        if let failure { throw .refused(failure) }
        // The caller finds each answer by its position.
        guard rows.count == steps.count(where: { $0.purpose == .answer }) else { throw .lost(connection.lost()) }
        return rows
    }

    /// Sends a script and reads all of its answers.
    private func roundTrip(script: String, _ request: Request) throws(RoundTripFailure) -> [Rows] {
        let deadline = ContinuousClock.now + options.statementDeadline
        var failure: PostgresError?
        do throws(PostgresError) {
            try connection.exitPipelineMode()
            try connection.send(script: script)
        } catch {
            throw .lost(error)
        }
        while let result = try nextResult(request, deadline) {
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: break
            case PGRES_FATAL_ERROR: failure = failure ?? PostgresError(result, statementName: nil)
            default: throw .lost(.copyRefused)
            }
        }
        do throws(PostgresError) {
            try connection.enterPipelineMode()
        } catch {
            throw .lost(failure ?? error)
        }
        if let failure { throw .refused(failure) }
        return []
    }

    /// The result of one step, read up to its end: nil for a statement, the sync's own result for a sync.
    private func answer(to step: PipelineStep, _ request: Request, _ deadline: ContinuousClock.Instant) throws(RoundTripFailure)
        -> ResultHandle
    {
        guard let result = try nextResult(request, deadline) else { throw .lost(connection.lost()) }
        switch result.status {
        case PGRES_FATAL_ERROR:
            let error = PostgresError(result, statementName: step.statement.name)
            // The server closes the connection after this message.
            if error.code == .connectionLost { throw .lost(error) }
        case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
            throw .lost(.copyRefused)
        default:
            break
        }
        guard case .synchronize = step.command else {
            while try nextResult(request, deadline) != nil {}
            return result
        }
        // An error at commit, such as a violated deferred constraint, comes before the sync's own result.
        var last = result
        while last.status != PGRES_PIPELINE_SYNC {
            var next = try nextResult(request, deadline)
            if next == nil { next = try nextResult(request, deadline) }
            guard let next else { throw .lost(connection.lost()) }
            last = next
        }
        return result
    }

    /// Reads while writing: the server stops reading statements when its answers are not read.
    private func nextResult(_ request: Request, _ deadline: ContinuousClock.Instant) throws(RoundTripFailure) -> ResultHandle? {
        while true {
            let hasMore = connection.flush()
            guard connection.isBusy else { return connection.nextResult() }
            do throws(PostgresError) {
                switch try SocketPoll.wait(socket: connection.socket, wakeup: requests.wakeup, writes: hasMore, until: deadline) {
                case .socket: try connection.consumeInput()
                case .wakeup: break
                case .deadline: throw PostgresError(.timeout, "")
                }
            } catch {
                throw error.code == .timeout ? .deadlinePassed : .lost(error)
            }
            if request.exchange.isInterruptible, request.cancellation.isCancelled { throw .cancelled }
        }
    }

    /// Reads an error, and removes the statement's plan if the error invalidates it.
    private mutating func makeError(from result: ResultHandle, of step: PipelineStep) -> PostgresError {
        var error = PostgresError(result, statementName: step.statement.name)
        guard let plan = step.plan else { return error }
        if case .prepare = step.command { prepared.remove(plan) }
        switch error.sqlState {
        case .invalidStatementName, .duplicatePreparedStatement:
            prepared.disable()
        case .featureNotSupported:
            // "cached plan must not change result type" is localised, so any error with this code removes the cached plan.
            guard step.usesOlderPlan else { break }
            prepared.retire(plan)
            error.isStalePlan = true
        default:
            break
        }
        return error
    }
}

extension PostgresError {
    /// COPY switches the connection to a streaming mode that this module does not implement.
    fileprivate static var copyRefused: PostgresError { PostgresError(.misuse, "COPY from or to the client is not supported") }
}

extension ConnectionThread {
    /// The kernel detects a dead peer sooner. After this time a proxy has lost the server, or the standby is unlikely to return.
    private static var commitAnswerTimeout: Duration { .seconds(600) }

    /// After this time it is said. A program that is stopped has closed the connection before.
    private static var commitAnswerNotice: Duration { .seconds(1) }

    /// Keeps the connection open until COMMIT is answered, or until the connection is closed or lost.
    ///
    /// A backend whose COMMIT waits for a synchronous standby does not notice that its client has disconnected, so it stays.
    /// Each replacement connection could add one more such backend, up to the server's connection limit.
    private func awaitCommitAnswer() {
        let start = ContinuousClock.now
        var isReported = false
        do throws(PostgresError) {
            while requests.isAwaitingCommit, !hasAnswered() {
                let hasMore = connection.flush()
                switch try SocketPoll.wait(
                    socket: connection.socket,
                    wakeup: requests.wakeup,
                    writes: hasMore,
                    until: start + (isReported ? Self.commitAnswerTimeout : Self.commitAnswerNotice)
                ) {
                case .socket: try connection.consumeInput()
                case .wakeup: break
                case .deadline where isReported: return logger.warning("COMMIT was not answered, closing its connection")
                case .deadline:
                    logger.warning("COMMIT is not answered; its connection keeps its slot until the answer arrives")
                    isReported = true
                }
            }
        } catch {
            logger.debug("connection was lost before COMMIT was answered", metadata: [LogKey.error: "\(error)"])
        }
    }

    /// Reads the results that have arrived; returns whether they are complete.
    private func hasAnswered() -> Bool {
        while !connection.isBusy {
            if connection.nextResult() == nil, connection.transactionStatus != PQTRANS_ACTIVE { return true }
        }
        return false
    }
}

/// Why a round trip failed.
private enum RoundTripFailure: Error {
    /// The server refused a statement; the connection is ready for the next one.
    case refused(PostgresError)
    /// The task was cancelled; an answer is still due on the connection.
    case cancelled
    /// The deadline passed; an answer is still due on the connection.
    case deadlinePassed
    /// The connection is lost.
    case lost(PostgresError)
}

/// Why an exchange failed, and whether the connection is still usable.
private struct ExchangeFailure: Error {
    let cause: any Error
    let endsConnection: Bool
    /// Whether the server still works on the exchange and was not asked to cancel it.
    var isUnanswered = false

    /// The server refused a statement; the connection is usable unless the error says that it is lost.
    static func refused(_ error: PostgresError) -> ExchangeFailure {
        ExchangeFailure(cause: error, endsConnection: error.code == .connectionLost)
    }

    static func broken(_ error: any Error) -> ExchangeFailure {
        ExchangeFailure(cause: error, endsConnection: true)
    }
}
