import Postgres

/// Drops indexes while tables are filled. Building them at the end costs a fraction of millions of insertions at random places.
enum DeferredIndexes {
    /// Drops all indexes of the tables, including primary keys, runs `body`, and creates them again. After an error they stay dropped.
    static func run(of tables: [String], on connection: Connection, _ body: () async throws -> Void) async throws {
        let indexes = try await connection.query(
            """
            SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', c.conrelid::regclass, c.conname) AS drop,
                   format('ALTER TABLE %s ADD CONSTRAINT %I %s', c.conrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) AS make
            FROM pg_constraint AS c
            WHERE c.contype IN ('p', 'u') AND c.conrelid = ANY (\(tables)::text[]::regclass[])
            UNION ALL
            -- PostgreSQL describes the index of a partitioned table with ONLY, which would leave its partitions without theirs.
            SELECT format('DROP INDEX %s', i.indexrelid::regclass), replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')
            FROM pg_index AS i
            WHERE i.indrelid = ANY (\(tables)::text[]::regclass[])
              AND NOT EXISTS (SELECT FROM pg_constraint AS c WHERE c.conindid = i.indexrelid AND c.contype IN ('p', 'u'))
            """
        )
        for index in indexes { try await connection.runScript(try index.decode("drop", as: String.self)) }
        try await body()
        try await connection.execute("SET maintenance_work_mem = '512MB'")
        for index in indexes { try await connection.runScript(try index.decode("make", as: String.self)) }
        try await connection.execute("RESET maintenance_work_mem")
    }
}
