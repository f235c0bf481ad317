import Postgres
package import PostgresTesting

/// PostgreSQL's own count of the reads of one table, by all sessions and including statements inside functions.
package struct TableReads: Sendable {
    /// Sequential scans that were begun.
    package var sequentialScans: Int64 = 0
    /// Rows of sequential scans and entries of index scans, dead ones included.
    package var entries: Int64 = 0
    /// Pages of the table and its indexes, from memory or not.
    package var pages: Int64 = 0

    package static func - (left: TableReads, right: TableReads) -> TableReads {
        TableReads(
            sequentialScans: left.sequentialScans - right.sequentialScans,
            entries: left.entries - right.entries,
            pages: left.pages - right.pages
        )
    }

    /// The smaller of each.
    package static func least(_ left: TableReads, _ right: TableReads) -> TableReads {
        TableReads(
            sequentialScans: min(left.sequentialScans, right.sequentialScans),
            entries: min(left.entries, right.entries),
            pages: min(left.pages, right.pages)
        )
    }
}

extension TestDatabase {
    /// The reads of each table of the schema, over all partitions, since its creation. A session reports its reads when it ends.
    package func reads() async throws -> [String: TableReads] {
        try await withConnection { connection in
            try await connection.execute("SET search_path = appstore")  // names come without it
            let rows = try await connection.query(
                """
                SELECT coalesce(pg_partition_root(t.relid)::regclass, t.relid::regclass)::text AS table, sum(t.seq_scan)::bigint AS seq_scan,
                       sum(t.seq_tup_read + coalesce((SELECT sum(i.idx_tup_read) FROM pg_stat_user_indexes AS i
                                                      WHERE i.relid = t.relid), 0))::bigint AS entries,
                       sum(coalesce(p.heap_blks_read + p.heap_blks_hit, 0) + coalesce(p.idx_blks_read + p.idx_blks_hit, 0))::bigint AS pages
                FROM pg_stat_user_tables AS t JOIN pg_statio_user_tables AS p ON p.relid = t.relid
                WHERE t.schemaname = 'appstore' GROUP BY 1
                """
            )
            return try Dictionary(
                uniqueKeysWithValues: rows.map { row in
                    let reads = TableReads(
                        sequentialScans: try row.decode("seq_scan"),
                        entries: try row.decode("entries"),
                        pages: try row.decode("pages")
                    )
                    return (try row.decode("table"), reads)
                }
            )
        }
    }

    /// The reads of `body` by table. It closes its connections, all with that name; this method awaits their end.
    package func reads(by applicationName: String, _ body: () async throws -> Void) async throws -> [String: TableReads] {
        let before = try await reads()
        try await body()
        try await awaitEnd(of: applicationName)
        return try await reads().merging(before, uniquingKeysWith: -).filter { $0.value.pages > 0 || $0.value.sequentialScans > 0 }
    }

    /// Waits until other sessions have reported their reads; they have been closed, or are about to be.
    package func awaitReports() async throws {
        try await awaitEnd(of: "")
    }

    /// Waits until no other session of that name is left, or none at all when the name is empty.
    private func awaitEnd(of applicationName: String) async throws {
        try await withConnection { connection in
            let deadline = ContinuousClock.now + .seconds(60)
            while true {
                let rows = try await connection.query(
                    """
                    SELECT count(*) AS n FROM pg_stat_activity
                    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
                      AND application_name = coalesce(nullif(\(applicationName), ''), application_name)
                    """
                )
                if try rows[0].decode("n", as: Int64.self) == 0 { return }
                guard ContinuousClock.now < deadline else { throw SessionsLeft(applicationName: applicationName) }
                try await connection.execute("SELECT pg_sleep(0.01)")
            }
        }
    }
}

/// Sessions that should have ended are still there.
struct SessionsLeft: Error {
    let applicationName: String
}
