import CLibPQ
import Logging

extension ConnectionThread {
    /// Carries out an exchange of any kind.
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
        var steps = link.transactionStatus == PQTRANS_IDLE ? prepared.takeHousekeeping() : []
        steps += control.map(PipelineStep.control)
        for statement in statements { steps += prepared.steps(for: statement) }
        steps.append(.synchronize(.control))
        let rows = try settled(request) { thread throws(ConversationFailure) in try thread.converse(steps, request) }
        try checkStandbys()
        return rows
    }

    /// Returns what has to go before a statement in that transaction.
    private mutating func claimTransaction(_ token: TransactionToken?) throws(ExchangeFailure) -> [Statement] {
        guard active === token || active == nil else {
            throw .refused(PostgresError(.misuse, "a transaction is open on this connection; statements must go through it"))
        }
        guard let token else { return [] }
        do throws(PostgresError) {
            if active != nil, link.transactionStatus == PQTRANS_IDLE { throw PostgresError.endedByStatement }
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
        let rows = try settled(request) { thread throws(ConversationFailure) in try thread.converse(script: script, request) }
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
            return try settled(request) { thread throws(ConversationFailure) in try thread.converse(steps, request) }
        } catch {
            // With the savepoint's work neither kept nor undone for certain, nothing in this transaction may be committed.
            throw .broken(error.cause)
        }
    }

    private mutating func rollBack(_ token: TransactionToken, _ request: Request) throws(ExchangeFailure) -> [Rows] {
        guard token.end() else { return [] }
        defer { active = nil }
        guard link.transactionStatus != PQTRANS_IDLE else { return [] }
        return try settled(request) { thread throws(ConversationFailure) in
            try thread.converse([.control("ROLLBACK"), .synchronize(.control)], request)
        }
    }

    /// COMMIT, alone behind its own sync, so that its answer is about nothing else; before it, what was left to travel with it.
    private mutating func commit(_ token: TransactionToken, _ request: Request) throws(ExchangeFailure) -> [Rows] {
        var steps: [PipelineStep]
        do throws(ExchangeFailure) {
            steps = try farewell(of: token)
        } catch {
            if token.end() { active = nil }
            throw error
        }
        guard token.end() else { return [] }
        defer { active = nil }
        guard !steps.isEmpty || link.transactionStatus != PQTRANS_IDLE else { throw .refused(.endedByStatement) }
        steps += [PipelineStep(command: .query, statement: "COMMIT", purpose: .answer), .synchronize(.control)]
        var tag = ""
        do throws(ExchangeFailure) {
            _ = try settled(request) { thread throws(ConversationFailure) in
                try thread.converse(steps, request) { tag = $0.commandTag }
            }
        } catch {
            guard error.endsConnection, let cause = error.cause as? PostgresError else { throw error }
            var failure = ExchangeFailure.broken(cause.recoded(.commitUncertain, prefix: "the answer to COMMIT was lost"))
            failure.isUnanswered = error.isUnanswered
            throw failure
        }
        guard tag == "COMMIT" else {
            throw .refused(PostgresError(.rolledBack, "COMMIT was answered with \(tag): an error in the transaction was not passed on"))
        }
        guard let warning = link.notices.warnings.first else { return [] }
        throw .refused(PostgresError(.commitUncertain, "COMMIT brought a warning: \(warning.message)", sqlState: warning.sqlState))
    }

    private mutating func farewell(of token: TransactionToken) throws(ExchangeFailure) -> [PipelineStep] {
        let statements = token.takeFarewell()
        guard !statements.isEmpty else { return [] }
        var steps = try claimTransaction(token).map(PipelineStep.control)
        for statement in statements { steps += prepared.steps(for: statement) }
        return steps + [.synchronize(.control)]
    }

    /// A statement of its own commits at its sync, where only a warning tells that a synchronous standby was not waited for.
    private func checkStandbys() throws(ExchangeFailure) {
        guard let warning = link.notices.warnings.first(where: { $0.routine == "SyncRepWaitForLSN" }) else { return }
        throw .refused(PostgresError(.commitUncertain, "the commit brought a warning: \(warning.message)", sqlState: warning.sqlState))
    }

    /// Has a conversation; one that is broken off is cancelled on the server too.
    private mutating func settled(
        _ request: Request,
        _ conversation: (inout ConnectionThread) throws(ConversationFailure) -> [Rows]
    ) throws(ExchangeFailure) -> [Rows] {
        do throws(ConversationFailure) {
            return try conversation(&self)
        } catch {
            switch error {
            case .refused(let error): throw .refused(error)
            case .lost(let error): throw .broken(error)
            case .cancelled:
                cancelOnServer()
                throw .broken(CancellationError())
            case .deadlinePassed:
                var failure = ExchangeFailure.broken(PostgresError(.timeout, "no answer within \(options.statementDeadline)"))
                // A cancel that reaches a COMMIT would leave it done here and not waited for on the standbys.
                if case .commit = request.exchange { failure.isUnanswered = true } else { cancelOnServer() }
                throw failure
            }
        }
    }

    private func cancelOnServer() {
        do throws(PostgresError) {
            try link.requestCancel()
        } catch {
            logger.error("cancel request could not be sent", metadata: [LogKey.error: "\(error)"])
        }
    }
}

extension PostgresError {
    fileprivate static var endedByStatement: PostgresError { PostgresError(.misuse, "the transaction was ended by a statement in it") }
}
