import Postgres

/// Pages and log that PostgreSQL has read and written, since its start or between two measurements.
struct PageTraffic: Sendable {
    /// Pages of one database that were not in `shared_buffers`.
    var reads: Int64
    /// Full page images in the log: pages that changed for the first time since a checkpoint.
    var fullPageImages: Int64
    var logBytes: Int64

    /// The counters now. Waits until the sessions of `role` have ended: a session may report its counters only then.
    static func now(of database: String, afterSessionsOf role: String, cluster: BenchmarkCluster) async throws -> PageTraffic {
        try await cluster.withConnection(to: database) { connection in
            let sessions: Statement = "SELECT FROM pg_stat_activity WHERE usename = \(role)"
            let deadline = ContinuousClock.now + .seconds(30)
            while try await !connection.query(sessions).isEmpty {
                guard ContinuousClock.now < deadline else { throw BenchmarkError(.system, "sessions of \(role) do not end") }
                try await Task.sleep(for: .milliseconds(10))
            }
            let row = try await connection.query(
                """
                SELECT d.blks_read, w.wal_fpi, w.wal_bytes::bigint AS wal_bytes
                FROM pg_stat_database AS d CROSS JOIN pg_stat_wal AS w WHERE d.datname = \(database)
                """
            )[0]
            return PageTraffic(
                reads: try row.decode("blks_read"),
                fullPageImages: try row.decode("wal_fpi"),
                logBytes: try row.decode("wal_bytes")
            )
        }
    }

    static func - (later: PageTraffic, earlier: PageTraffic) -> PageTraffic {
        PageTraffic(
            reads: later.reads - earlier.reads,
            fullPageImages: later.fullPageImages - earlier.fullPageImages,
            logBytes: later.logBytes - earlier.logBytes
        )
    }
}
