import CLibPQ
import Logging

extension ConnectionThread {
    /// Sends the steps and reads their answers up to the last sync, so that the connection is usable even after an error.
    ///
    /// - Parameter observe: Called with the result of each of the caller's statements.
    /// - Throws: ``RoundTripFailure/refused(_:)`` with the error of the first statement that failed.
    mutating func roundTrip(
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
    func roundTrip(script: String, _ request: Request) throws(RoundTripFailure) -> [Rows] {
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
