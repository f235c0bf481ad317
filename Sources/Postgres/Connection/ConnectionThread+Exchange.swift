import CLibPQ
import Logging

extension ConnectionThread {
    mutating func carryOut(_ request: Request) throws(ExchangeFailure) -> [Rows] {
        switch request.exchange {
        case .statements(let statements, let token):
            return try run(statements, in: token, request)
        case .script(let sql):
            return try run(script: sql, request)
        case .rollbackToSavepoint(let name, let token):
            return try rollBack(toSavepoint: name, token, request)
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
        steps.append(.synchronize(.control))
        let rows = try cancellingIfAbandoned(request) { thread throws(RoundTripFailure) in try thread.roundTrip(steps, request) }
        try checkStandbys()
        return rows
    }

    /// Makes `token`'s transaction the active one; returns its pending control statements.
    private mutating func claimTransaction(_ token: TransactionToken?) throws(ExchangeFailure) -> [Statement] {
        guard active === token || active == nil else {
            throw .refused(PostgresError(.misuse, "a transaction is open on this connection; statements must go through it"))
        }
        guard let token else { return [] }
        do throws(PostgresError) {
            if active != nil, connection.transactionStatus == PQTRANS_IDLE { throw PostgresError.endedByStatement }
            let control = try token.takePending()
            active = token
            return control
        } catch {
            throw .refused(error)
        }
    }

    private mutating func run(script: String, _ request: Request) throws(ExchangeFailure) -> [Rows] {
        guard active == nil else {
            throw .refused(PostgresError(.misuse, "a transaction is open on this connection; a script cannot run in it"))
        }
        let rows = try cancellingIfAbandoned(request) { thread throws(RoundTripFailure) in try thread.roundTrip(script: script, request) }
        try checkStandbys()
        return rows
    }

    private mutating func rollBack(
        toSavepoint name: String,
        _ token: TransactionToken,
        _ request: Request
    ) throws(ExchangeFailure) -> [Rows] {
        token.dropPending()
        let steps: [PipelineStep] = [
            .control("ROLLBACK TO SAVEPOINT \(identifier: name)"), .control("RELEASE SAVEPOINT \(identifier: name)"),
            .synchronize(.control),
        ]
        do throws(ExchangeFailure) {
            return try cancellingIfAbandoned(request) { thread throws(RoundTripFailure) in try thread.roundTrip(steps, request) }
        } catch {
            // The savepoint's changes may be neither kept nor undone, so this transaction must not be committed.
            throw .broken(error.cause)
        }
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
        do throws(ExchangeFailure) {
            _ = try cancellingIfAbandoned(request) { thread throws(RoundTripFailure) in
                try thread.roundTrip(steps, request) { tag = $0.commandTag }
            }
        } catch {
            guard error.endsConnection, let cause = error.cause as? PostgresError else { throw error }
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
                cancelOnServer()
                throw .broken(CancellationError())
            case .deadlinePassed:
                var failure = ExchangeFailure.broken(PostgresError(.timeout, "no answer within \(options.statementDeadline)"))
                // A cancel request would end COMMIT's wait for the standbys: committed locally, maybe not replicated.
                if case .commit = request.exchange { failure.isUnanswered = true } else { cancelOnServer() }
                throw failure
            }
        }
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
