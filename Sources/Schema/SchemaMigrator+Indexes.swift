import Logging
import Postgres
import SQL

/// Steps that are marked `-- concurrently`.
extension SchemaMigrator {
    /// Makes the indexes of a step ahead of the transaction of the upgrade, as far as the tables of the database permit.
    ///
    /// CREATE INDEX CONCURRENTLY blocks no session, but waits for open transactions, so it runs without a lock timeout.
    func makeIndexes(_ file: SchemaFile) async throws {
        let statements = try await statements(file)
        try await dropInvalid(statements)
        do {
            try await connection.runScript("SET lock_timeout = 0")
            for statement in statements {
                do {
                    try await connection.runScript(statement)
                } catch let error as PostgresError where error.sqlState == .undefinedTable || error.sqlState == .undefinedColumn {
                    // An earlier step, which the database lacks, makes the table or column: the index is made after it.
                    logger.notice("the upgrade makes this index", metadata: ["schema.statement": "\(statement)", "error": "\(error)"])
                }
            }
            try await connection.runScript("SET lock_timeout = \(lockTimeout.milliseconds)")
        } catch let error as PostgresError {
            await dropLeftovers(statements)
            throw SchemaError(.fileFailed, "\(file.name): \(error)", cause: error)
        }
        try await requireValid(statements, of: file)
    }

    /// The statements that the step's query returns.
    func statements(_ file: SchemaFile) async throws -> [String] {
        try await naming(file) { try await connection.query("\(unsafeRaw: file.text)") }.map { try $0.decode(0) }
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
