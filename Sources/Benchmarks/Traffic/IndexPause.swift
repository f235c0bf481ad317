import Postgres

/// Tables without their indexes while they are filled: made at the end, in order, they cost a fraction of what millions of insertions at
/// random places would.
enum IndexPause {
    /// Drops all indexes of these tables, primary keys included, runs `body`, and makes them anew. An error leaves the tables without them.
    static func run(of tables: [String], on connection: Connection, _ body: () async throws -> Void) async throws {
        let indexes = try await connection.query(
            """
            SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', c.conrelid::regclass, c.conname) AS drop,
                   format('ALTER TABLE %s ADD CONSTRAINT %I %s', c.conrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) AS make
            FROM pg_constraint AS c
            WHERE c.contype IN ('p', 'u') AND c.conrelid = ANY (\(tables)::text[]::regclass[])
            UNION ALL
            SELECT format('DROP INDEX %s', i.indexrelid::regclass), pg_get_indexdef(i.indexrelid)
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
