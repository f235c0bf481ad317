import Logging
import Postgres

/// The transactions of requests. Each first finds out who asks, then has the rights of that person only.
struct ConsoleTransactions: Sendable {
    let pool: ConnectionPool
    let logger: Logger

    /// The conditions with which functions of the schema refuse: no_data_found, invalid_parameter_value, object_not_in_prerequisite_state.
    private static let explained = Set(["P0002", "22023", "55000"].map { SQLState(rawValue: $0) }).union([.uniqueViolation])

    /// Runs a page: READ ONLY, as `appstore_viewer`.
    func reading<Value: Sendable>(
        _ credential: Access.Credential,
        _ body: (ConsolePerson, Transaction) async throws -> Value
    ) async throws(ConsoleProblem) -> Value {
        try await perform { transaction in
            let person = try await person(credential, transaction, first: ["SET TRANSACTION READ ONLY"])
            try await transaction.execute("SET LOCAL ROLE appstore_viewer")
            return try await body(person, transaction)
        }
    }

    /// Runs an action with the rights that it needs, if the person has them. The audit names the person.
    func acting<Value: Sendable>(
        _ credential: Access.Credential,
        _ right: ConsoleRight,
        _ body: (ConsolePerson, Transaction) async throws -> Value
    ) async throws(ConsoleProblem) -> Value {
        try await perform { transaction in
            let person = try await person(credential, transaction, first: [])
            guard person.has(right) else { throw ConsoleProblem.forbidden("This needs another role than yours, \(person.role.rawValue).") }
            let isLogin = if case .session = credential { "true" } else { "false" }
            _ = try await transaction.pipeline([
                "SELECT set_config('appstore.actor', \(person.name), true)",
                "SELECT set_config('appstore.actor_is_login', \(isLogin), true)", "SELECT set_config('role', \(right.role), true)",
            ])
            return try await body(person, transaction)
        }
    }

    /// Runs one statement as `appstore_console`, and a second one where the first returns a row.
    func row<Value: Sendable>(
        _ statement: Statement,
        then second: Statement? = nil,
        _ read: (Row) throws -> Value
    ) async throws(ConsoleProblem) -> Value? {
        try await perform { transaction in
            guard let row = try await transaction.query(statement).first else { return nil }
            if let second { _ = try await transaction.query(second) }
            return try read(row)
        }
    }

    private func person(
        _ credential: Access.Credential,
        _ transaction: Transaction,
        first statements: [Statement]
    ) async throws -> ConsolePerson {
        switch credential {
        case .person(let person):
            if !statements.isEmpty { _ = try await transaction.pipeline(statements) }
            return person
        case .session(let secret):
            let rows = try await transaction.pipeline(statements + [ConsoleSession.find(secret)])
            guard let row = rows.last?.first else { throw ConsoleProblem.noSession }
            return try ConsoleSession(row).person
        }
    }

    private func perform<Value: Sendable>(_ body: (Transaction) async throws -> Value) async throws(ConsoleProblem) -> Value {
        do {
            return try await pool.withTransaction(body)
        } catch let problem as ConsoleProblem {
            throw problem
        } catch let error as PostgresError {
            throw problem(error)
        } catch is CancellationError {
            // The server is shutting down.
            throw .unavailable
        } catch {
            logger.error("the console cannot read what the database answered", metadata: ["error": "\(error)"])
            throw .broken
        }
    }

    private func problem(_ error: PostgresError) -> ConsoleProblem {
        let metadata: Logger.Metadata = ["error": "\(error)"]
        if error.sqlState == .queryCanceled { return .tooSlow }
        if error.sqlState == .lockNotAvailable { return .held }
        // What functions of the schema refuse is written for the person who called them. They name no constraint.
        if let state = error.sqlState, Self.explained.contains(state), error.constraint == nil {
            return .conflict([error.message, error.hint].compactMap(\.self).joined(separator: ". "))
        }
        // A data exception.
        if error.sqlState?.conditionClass == "22" { return .badRequest("A value in the address or the form is out of range.") }
        guard error.isRetryable || error.isConnectionLoss || error.code == .closed else {
            logger.error("the database refused what the console asked", metadata: metadata)
            return .broken
        }
        logger.log(level: error.isDatabaseOutage ? .debug : .warning, "the database did not answer the console", metadata: metadata)
        return .unavailable
    }
}
