import Logging
import Postgres
import SQL

/// Steps that are marked `-- concurrently`.
extension SchemaMigrator {
    /// Runs the statements of a step ahead of the transaction of the upgrade, as far as the objects of the database permit, and returns those that
    /// ran. ``apply(_:without:)`` runs the others.
    ///
    /// CREATE INDEX CONCURRENTLY and DROP INDEX CONCURRENTLY block no session, but wait for open transactions, so they run without a lock timeout.
    func runAhead(_ file: SchemaFile) async throws -> Set<String> {
        let query = try await naming(file) { try await unlessTooEarly(file.name) { try await self.statements(file) } }
        guard let statements = query else { return [] }
        var done: Set<String> = []
        do {
            try await connection.runScript("SET lock_timeout = 0")
            try await dropInvalid(statements)
            for statement in statements where try await unlessTooEarly(statement, { try await connection.runScript(statement) }) != nil {
                done.insert(statement)
            }
            try await connection.runScript("SET lock_timeout = \(lockTimeout.milliseconds)")
            try await requireValid(statements, of: file)
            return done
        } catch let error as PostgresError {
            await dropLeftovers(statements)
            throw SchemaError(.fileFailed, "\(file.name): \(error)", cause: error)
        }
    }

    /// The statements that the step's query returns.
    func statements(_ file: SchemaFile) async throws -> [String] {
        try await connection.query("\(unsafeRaw: file.text)").map { try $0.decode(0) }
    }

    /// What runs ahead may name an object that an earlier step makes, which the database lacks.
    private static let tooEarly: Set<SQLState> = [
        .invalidSchemaName, .undefinedTable, .undefinedColumn, .undefinedObject, .undefinedFunction,
    ]

    /// Returns nil where `body` names an object that an earlier step makes: the upgrade runs it after that step.
    private nonisolated(nonsending) func unlessTooEarly<T: Sendable>(_ part: String, _ body: () async throws -> T) async throws -> T? {
        do {
            return try await body()
        } catch let error as PostgresError where error.sqlState.map(Self.tooEarly.contains) == true {
            logger.notice("the upgrade runs this after earlier steps", metadata: ["schema.part": "\(part)", "error": "\(error)"])
            return nil
        }
    }

    /// Throws when an index of the statements is invalid: `IF NOT EXISTS` does not notice.
    func requireValid(_ statements: [String], of file: SchemaFile) async throws {
        let invalid = try await invalidIndexes(statements)
        guard invalid.isEmpty else {
            throw SchemaError(.fileFailed, "\(file.name): invalid: \(invalid.joined(separator: ", ")); drop it and run migrate again")
        }
    }

    /// Drops what a cancelled CREATE INDEX CONCURRENTLY has left.
    private func dropInvalid(_ statements: [String]) async throws {
        for index in try await invalidIndexes(statements) {
            try await connection.runScript("DROP INDEX CONCURRENTLY \(index)")
            logger.notice("invalid index dropped", metadata: ["schema.index": "\(index)"])
        }
    }

    /// Drops invalid indexes after an error; where this fails, the next run drops them.
    private func dropLeftovers(_ statements: [String]) async {
        do {
            try await connection.runScript("SET lock_timeout = \(lockTimeout.milliseconds)")
            try await dropInvalid(statements)
        } catch {
            logger.warning("an invalid index may be left until the next migrate", metadata: ["error": "\(error)"])
        }
    }

    /// The invalid indexes that the statements name. The index of a partitioned table is valid when each partition has it.
    private func invalidIndexes(_ statements: [String]) async throws -> [String] {
        try await connection.query(
            """
            SELECT i.indexrelid::regclass::text AS name
            FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
            WHERE NOT i.indisvalid AND c.relkind = 'i' AND c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace)
              AND EXISTS (SELECT FROM unnest(\(statements)) AS s (text) WHERE s.text ~ ('\\m' || c.relname || '\\M'))
            """
        ).map { try $0.decode("name") }
    }
}
