import CLibPQ
import Logging

extension ConnectionThread {
    mutating func carryOut(_ request: Request) throws(ExchangeFailure) -> [Rows] {
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
