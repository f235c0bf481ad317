import CLibPQ
import Logging

extension ConnectionThread {
    /// Sends the steps and reads their answers up to the last sync, so that the connection is ready again even after an error.
    ///
    /// - Parameter observe: Called with the result of each of the caller's statements.
    /// - Throws: ``ConversationFailure/refused(_:)`` with the error of the first statement that failed.
    mutating func converse(
        _ steps: [PipelineStep],
        _ request: Request,
        observe: (ResultHandle) -> Void = { _ in }
    ) throws(ConversationFailure) -> [Rows] {
        let deadline = ContinuousClock.now + options.statementDeadline
        do throws(PostgresError) {
            for step in steps { try link.send(step) }
        } catch {
            throw .lost(error)
        }
        var rows: [Rows] = []
        var failure: PostgresError?
        for step in steps {
            let result = try answer(to: step, request, deadline)
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
                guard step.purpose == .answer else { break }
                observe(result)
                rows.append(Rows(result))
            case PGRES_PIPELINE_SYNC:
                break
            case PGRES_PIPELINE_ABORTED:
                if case .prepare = step.command, let plan = step.plan { prepared.forget(plan) }
            default:
                let error = judge(result, of: step)
                if step.purpose == .housekeeping {
                    logger.debug("statement could not be deallocated", metadata: [LogKey.error: "\(error)"])
                } else {
                    failure = failure ?? error
                }
            }
        }
        if let failure { throw .refused(failure) }
        // The caller takes each answer by its place.
        guard rows.count == steps.count(where: { $0.purpose == .answer }) else { throw .lost(link.lost()) }
        return rows
    }

    /// Sends a script and reads all of its answers.
    func converse(script: String, _ request: Request) throws(ConversationFailure) -> [Rows] {
        let deadline = ContinuousClock.now + options.statementDeadline
        var failure: PostgresError?
        do throws(PostgresError) {
            try link.exitPipelineMode()
            try link.send(script: script)
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
            try link.enterPipelineMode()
        } catch {
            throw .lost(failure ?? error)
        }
        if let failure { throw .refused(failure) }
        return []
    }

    /// The result of one step, read up to the mark behind it: nil behind a statement, the sync's own result behind a sync.
    private func answer(to step: PipelineStep, _ request: Request, _ deadline: ContinuousClock.Instant) throws(ConversationFailure)
        -> ResultHandle
    {
        guard let result = try nextResult(request, deadline) else { throw .lost(link.lost()) }
        switch result.status {
        case PGRES_FATAL_ERROR:
            let error = PostgresError(result, statementName: step.statement.name)
            // The server's last words; behind them comes nothing but the end of the connection.
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
        // What the statements left to the commit, such as a deferred constraint, fails at the sync and before its result.
        var mark = result
        while mark.status != PGRES_PIPELINE_SYNC {
            var next = try nextResult(request, deadline)
            if next == nil { next = try nextResult(request, deadline) }
            guard let next else { throw .lost(link.lost()) }
            mark = next
        }
        return result
    }

    /// Reads while writing: the server stops taking statements while its answers are not taken.
    private func nextResult(_ request: Request, _ deadline: ContinuousClock.Instant) throws(ConversationFailure) -> ResultHandle? {
        while true {
            let hasMore = link.flush()
            guard link.isBusy else { return link.nextResult() }
            do throws(PostgresError) {
                switch try SocketWait.wait(socket: link.socket, bell: mailbox.bell, writes: hasMore, until: deadline) {
                case .socket: try link.consumeInput()
                case .bell: break
                case .deadline: throw PostgresError(.timeout, "")
                }
            } catch {
                throw error.code == .timeout ? .deadlinePassed : .lost(error)
            }
            if request.exchange.isInterruptible, request.ticket.isCancelled { throw .cancelled }
        }
    }

    /// Reads an error and draws the consequences for the plan behind the statement.
    private mutating func judge(_ result: ResultHandle, of step: PipelineStep) -> PostgresError {
        var error = PostgresError(result, statementName: step.statement.name)
        guard let plan = step.plan else { return error }
        if case .prepare = step.command { prepared.forget(plan) }
        switch error.sqlState {
        case .invalidStatementName, .duplicatePreparedStatement:
            prepared.giveUp()
        case .featureNotSupported:
            // "cached plan must not change result type": the message is localised, so any such error of a cached plan makes it go.
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
    /// COPY turns the connection into a stream that no code here would feed or read.
    fileprivate static var copyRefused: PostgresError { PostgresError(.misuse, "COPY from or to the client is not supported") }
}
