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
        for step in steps where step.isConcurrent { try await runAhead(step.file) }
        try await transaction("the upgrade") {
            // Each claim reads the fence and locks it until its batch has ended. So this lock waits for the batches that run, and the next ones wait
            // for it: a batch reads views after it has written tables, and this transaction changes tables after it has emptied views.
            try await connection.execute("LOCK TABLE appstore.fence IN ACCESS EXCLUSIVE MODE")
            let grants = try await foreignGrants()
            try await emptyViews()
            for step in steps where !step.isAfterDefinitions { try await apply(step) }
            try await define()
            for step in steps where step.isAfterDefinitions { try await apply(step) }
            try await restore(grants)
            try await requireOwnObjects()
        }
        let changes = SchemaChanges(steps: steps.map(\.file.name), isRedefined: true)
        logger.notice("schema upgraded", metadata: ["schema.version": "\(manifest.version)", "schema.parts": "\(changes.parts)"])
        return changes
    }

    private func apply(_ step: SchemaStep) async throws {
        if step.isConcurrent {
            // Here it makes what was too early ahead of the steps before it, and finds all else.
            let statements = try await naming(step.file) { try await self.statements(step.file) }
            for statement in statements {
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
