import Logging
import Postgres
import SQL

extension SchemaMigrator {
    /// Creates the schema in a database that has none.
    func create() async throws -> SchemaChanges {
        try await transaction("the schema") {
            for file in manifest.tables { try await run(file) }
            try await connection.execute(
                """
                INSERT INTO appstore.schema_history (version, name, is_breaking) VALUES (\(Int32(manifest.version)), 'tables', false)
                """
            )
            try await connection.execute("INSERT INTO appstore.fence (contract) VALUES (\(manifest.contract))")
            try await define()
        }
        logger.notice("schema made", metadata: ["schema.version": "\(manifest.version)"])
        return SchemaChanges(created: manifest.version, isRedefined: true)
    }

    /// Applies the missing steps, and replaces functions, views and privileges, in one transaction.
    ///
    /// - Parameter known: the version of the database's schema.
    func upgrade(from known: Int) async throws -> SchemaChanges {
        let steps = manifest.steps.filter { $0.version > known }
        let isOutdated = if steps.isEmpty { try await isOutdated() } else { true }
        guard isOutdated else {
            try await requireOwnObjects()
            return SchemaChanges()
        }
        var ahead: Set<String> = []
        for step in steps where step.isConcurrent { ahead.formUnion(try await runAhead(step.file)) }
        let done = ahead
        try await transaction("the upgrade") {
            // Each claim reads the fence and locks it until its batch has ended. So this lock waits for batches of earlier releases.
            if steps.contains(where: \.isBreaking) { try await connection.execute("LOCK TABLE appstore.fence IN ACCESS EXCLUSIVE MODE") }
            let grants = try await foreignGrants()
            try await emptyViews()
            for step in steps where !step.isAfterDefinitions { try await apply(step, without: done) }
            try await define()
            for step in steps where step.isAfterDefinitions { try await apply(step, without: done) }
            try await restore(grants)
            try await requireOwnObjects()
        }
        let changes = SchemaChanges(steps: steps.map(\.file.name), isRedefined: true)
        logger.notice("schema upgraded", metadata: ["schema.version": "\(manifest.version)", "schema.parts": "\(changes.parts)"])
        return changes
    }

    /// - Parameter done: the statements that ran ahead. CREATE INDEX would lock its table against writers, also where it finds the index; and a
    ///   writer that waits for a view that is emptied holds such a table: a deadlock.
    private func apply(_ step: SchemaStep, without done: Set<String>) async throws {
        if step.isConcurrent {
            // What was too early ahead of the steps before it.
            let statements = try await naming(step.file) { try await self.statements(step.file) }
            for statement in statements where !done.contains(statement) {
                try await naming(step.file) { try await connection.runScript(statement.replacing(" CONCURRENTLY", with: "")) }
            }
            try await requireValid(statements, of: step.file)
        } else {
            try await run(step.file)
        }
        try await connection.execute(
            """
            INSERT INTO appstore.schema_history (version, name, is_breaking)
            VALUES (\(Int32(step.version)), \(step.file.name), \(step.isBreaking))
            """
        )
        if step.isBreaking { try await connection.execute("UPDATE appstore.fence SET contract = \(Int32(step.version))") }
    }
}
