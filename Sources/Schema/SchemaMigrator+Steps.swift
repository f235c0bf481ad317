import Logging
import Postgres
import SQL

extension SchemaMigrator {
    /// Creates the tables in an empty database.
    func create() async throws {
        try await transaction("the tables") {
            for file in manifest.tables { try await run(file) }
            try await connection.execute(
                """
                INSERT INTO appstore.schema_history (version, name, is_breaking) VALUES (\(Int32(manifest.version)), 'tables', false)
                """
            )
            try await connection.execute("INSERT INTO appstore.fence (contract) VALUES (\(manifest.contract))")
        }
        logger.notice("schema made", metadata: ["schema.version": "\(manifest.version)"])
    }

    /// Applies one step.
    func apply(_ step: SchemaStep) async throws {
        let before = try await fingerprint()
        if step.isConcurrent { try await runConcurrently(step.file) }
        try await transaction(step.file.name) {
            // Each claim reads the fence and locks it until its batch has ended. So this lock waits for batches of earlier releases.
            if step.isBreaking { try await connection.execute("LOCK TABLE appstore.fence IN ACCESS EXCLUSIVE MODE") }
            if !step.isConcurrent { try await run(step.file) }
            try await connection.execute(
                """
                INSERT INTO appstore.schema_history (version, name, is_breaking)
                VALUES (\(Int32(step.version)), \(step.file.name), \(step.isBreaking))
                """
            )
            // The step may have dropped views. An empty digest makes the next run create them again.
            try await connection.execute("UPDATE appstore.schema_definitions SET digest = ''")
            if step.isBreaking { try await connection.execute("UPDATE appstore.fence SET contract = \(Int32(step.version))") }
            try await recordFingerprint(since: before)
        }
        logger.notice("schema step applied", metadata: ["schema.step": "\(step.file.name)"])
    }

    /// Runs statements such as CREATE INDEX CONCURRENTLY without a lock timeout: they block no session but wait for open transactions.
    private func runConcurrently(_ file: SchemaFile) async throws {
        try await connection.runScript("SET lock_timeout = 0")
        let statements = try await naming(file) { try await connection.query("\(unsafeRaw: file.text)") }
        for statement in statements {
            let text = try statement.decode(0, as: String.self)
            try await naming(file) { try await connection.runScript(text) }
        }
        try await connection.runScript("SET lock_timeout = \(lockTimeout.milliseconds)")
    }
}
