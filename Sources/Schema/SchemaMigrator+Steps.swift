import Logging
import Postgres
import SQL

extension SchemaMigrator {
    /// Makes the tables of an empty database.
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

    /// Takes the database one version further.
    func apply(_ step: SchemaStep) async throws {
        if step.isConcurrent { try await runConcurrently(step.file) }
        try await transaction(step.file.name) {
            // Each claim reads the fence and so holds a lock on it until its batch has ended: no batch of an earlier release is in flight.
            if step.isBreaking { try await connection.execute("LOCK TABLE appstore.fence IN ACCESS EXCLUSIVE MODE") }
            if !step.isConcurrent { try await run(step.file) }
            try await connection.execute(
                """
                INSERT INTO appstore.schema_history (version, name, is_breaking)
                VALUES (\(Int32(step.version)), \(step.file.name), \(step.isBreaking))
                """
            )
            // The step may have dropped views that were in its way.
            try await connection.execute("UPDATE appstore.schema_definitions SET digest = ''")
            if step.isBreaking { try await connection.execute("UPDATE appstore.fence SET contract = \(Int32(step.version))") }
        }
        logger.notice("schema step applied", metadata: ["schema.step": "\(step.file.name)"])
    }

    /// Such as CREATE INDEX CONCURRENTLY, which makes no other session wait but waits for every open transaction itself.
    private func runConcurrently(_ file: SchemaFile) async throws {
        try await connection.runScript("SET lock_timeout = 0")
        let statements = try await naming(file) { try await connection.query("\(unsafeRaw: file.text)") }
        for statement in statements {
            let text = try statement.decode(0, as: String.self)
            try await naming(file) { try await connection.runScript(text) }
        }
        try await connection.runScript("SET lock_timeout = \(lockTimeout.wholeMilliseconds)")
    }
}
