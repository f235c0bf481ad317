import Logging
import Postgres
import SQL

extension SchemaMigrator {
    private static let attempts = 3

    /// Runs `body` in a transaction and retries it after a short pause when a lock times out or the server ends a deadlock.
    ///
    /// - Parameter name: The transaction's name in errors.
    nonisolated(nonsending) func transaction(_ name: String, _ body: () async throws -> Void) async throws {
        var pause = Backoff(base: .seconds(1), cap: .seconds(2))
        for attempt in 1... {
            do {
                try await connection.runScript("BEGIN ISOLATION LEVEL READ COMMITTED")
                try await body()
                return try await connection.runScript("COMMIT")
            } catch {
                await rollBack()
                let cause = error as? PostgresError ?? (error as? SchemaError)?.cause
                guard let state = cause?.sqlState, [.lockNotAvailable, .deadlockDetected].contains(state) else {
                    throw Self.named(name, error)
                }
                let obstacle =
                    state == .deadlockDetected
                    ? "the server ended a deadlock with another transaction"
                    : "a lock was not free within \(lockTimeout); \(try await lockHolders())"
                guard attempt < Self.attempts else { throw SchemaError(.locked, "\(name): \(obstacle)", cause: cause) }
                logger.notice("trying again: \(obstacle)", metadata: ["schema.part": "\(name)"])
            }
            var generator = SystemRandomNumberGenerator()
            try await Task.sleep(for: pause.next(using: &generator))
        }
    }

    /// PostgreSQL's error with the name of what failed; other errors have it already.
    private static func named(_ name: String, _ error: any Error) -> any Error {
        (error as? PostgresError).map { SchemaError(.fileFailed, "\(name): \($0)", cause: $0) } ?? error
    }

    /// Runs a file of the manifest.
    func run(_ file: SchemaFile) async throws {
        try await naming(file) { try await connection.runScript(file.text) }
    }

    /// Prefixes PostgreSQL's error with the file's name, and names what depends on an object that the file drops, or on a column that gets
    /// another type. PostgreSQL refuses the latter as a missing feature, with the dependent object as the detail.
    nonisolated(nonsending) func naming<T: Sendable>(_ file: SchemaFile, _ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch let error as PostgresError where error.sqlState == .dependentObjectsStillExist || error.sqlState == .featureNotSupported {
            // The detail of other missing features names what a step does wrong.
            guard let detail = error.refusal, error.sqlState != .featureNotSupported || detail.contains("depends on") else {
                throw SchemaError(.fileFailed, "\(file.name): \(error)", cause: error)
            }
            throw SchemaError(.hasDependents, "\(file.name): \(error): \(detail); \(Self.remedy)", cause: error)
        } catch let error as PostgresError {
            throw SchemaError(.fileFailed, "\(file.name): \(error)", cause: error)
        }
    }

    /// What to do about objects of others that depend on one that has to be dropped.
    static let remedy = "drop what depends on it, run migrate, and make it again"

    private func rollBack() async {
        do {
            try await connection.runScript("ROLLBACK")
        } catch {
            logger.debug("rollback failed: the connection is lost, and the transaction with it", metadata: ["error": "\(error)"])
        }
    }

    /// The transactions that have held locks on the schema for at least the lock timeout.
    private func lockHolders() async throws -> String {
        let rows = try await connection.query(
            """
            SELECT concat_ws(' ', 'pid', a.pid, a.usename, nullif(a.application_name, ''),
                             'since ' || date_trunc('second', a.xact_start)) AS holder
            FROM pg_catalog.pg_stat_activity AS a
            WHERE a.pid <> pg_backend_pid() AND a.datname = current_database()
              AND (a.xact_start < clock_timestamp() - \(lockTimeout.milliseconds) * interval '1 ms') IS NOT FALSE
              AND EXISTS (SELECT FROM pg_catalog.pg_locks AS l JOIN pg_catalog.pg_class AS c ON c.oid = l.relation
                          WHERE l.pid = a.pid AND l.granted AND c.relnamespace = 'appstore'::regnamespace)
            ORDER BY a.xact_start
            LIMIT 5
            """
        )
        guard !rows.isEmpty else { return "the transaction that held it has ended" }
        return "held by " + (try rows.map { try $0.decode("holder", as: String.self) }.joined(separator: ", "))
    }
}
