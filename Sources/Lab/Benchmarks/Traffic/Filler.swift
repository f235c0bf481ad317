import Postgres

/// Fills a database with events before a measurement. PostgreSQL generates the rows, with tiny bodies.
enum Filler {
    private static let step = 500_000

    /// Adds settled events: a body of two bytes, an outcome, the notificationUUID, and rows of the ledger. The database must be empty.
    static func settle(_ count: Int, in database: String, of cluster: BenchmarkCluster) async throws {
        guard count > 0 else { return }
        try await cluster.withConnection(to: database) { connection in
            try await connection.execute("SET synchronous_commit = off")
            try await connection.runScript(SettledLedger.view())
            try await DeferredIndexes.run(of: SettledLedger.tables, on: connection) {
                for start in stride(from: 0, to: count, by: step) {
                    try Task.checkCancellation()
                    try await makePartitions(connection)
                    try await settle(Int64(min(step, count - start)), on: connection)
                }
            }
            try await connection.execute("VACUUM ANALYZE")
        }
    }

    private static func settle(_ count: Int64, on connection: Connection) async throws {
        let rows = try await connection.query("SELECT coalesce(max(event_id), 0) AS last FROM appstore.inbox")
        let last = try rows.first?.decode("last", as: Int64.self) ?? 0
        try await connection.execute(
            """
            WITH stored AS (
                INSERT INTO appstore.inbox (source, received_at, body)
                SELECT 'notification_v2', clock_timestamp(), convert_to('{}', 'UTF8') FROM generate_series(1, \(count))
                RETURNING event_id, received_at
            ), settled AS (
                INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, notification_type,
                                               notification_uuid, environment, bundle_id, transaction_id, original_transaction_id)
                SELECT s.event_id, 'notification_v2', s.received_at, clock_timestamp(), 1, 1, 'applied',
                       CASE s.event_id % 2 WHEN 0 THEN 'DID_RENEW' ELSE 'DID_CHANGE_RENEWAL_STATUS' END,
                       gen_random_uuid(), 'Production', 'com.example.bench', (100000000000000 + s.event_id / 2 * 2)::text,
                       (100000000000000 + s.event_id / 12 * 12)::text
                FROM stored AS s
                RETURNING event_id, environment, notification_uuid
            )
            INSERT INTO appstore.seen_notifications (environment, notification_uuid, first_event_id)
            SELECT environment::appstore.environment, notification_uuid, event_id FROM settled
            """
        )
        for insertion in SettledLedger.insertions(after: last) { try await connection.execute(insertion) }
    }

    /// Adds events to the queue that are due in `waitSeconds`, with bodies that are not genuine notifications.
    static func queue(_ count: Int, dueIn waitSeconds: Int, in database: String, of cluster: BenchmarkCluster) async throws {
        try await cluster.withConnection(to: database) { connection in
            try await connection.execute("SET synchronous_commit = off")
            for start in stride(from: 0, to: count, by: step) {
                try Task.checkCancellation()
                try await makePartitions(connection)
                try await connection.execute(
                    """
                    WITH stored AS (
                        INSERT INTO appstore.inbox (source, received_at, body)
                        SELECT 'notification_v2', clock_timestamp(), convert_to('{"signedPayload":"e30.' || n || '.e30"}', 'UTF8')
                        FROM generate_series(1, \(Int64(min(step, count - start)))) AS n
                        RETURNING event_id, received_at, octet_length(body) AS bytes
                    )
                    INSERT INTO appstore.inbox_queue (event_id, run_at, bytes)
                    SELECT s.event_id, s.received_at + \(Int64(waitSeconds)) * interval '1 second', s.bytes FROM stored AS s
                    """
                )
            }
            try await connection.execute("VACUUM ANALYZE appstore.inbox_queue")
        }
    }

    /// Creates the partitions of the inbox that a worker would have created by now.
    private static func makePartitions(_ connection: Connection) async throws {
        while try await connection.query("SELECT appstore.prepare_partitions() AS made").first?.decode("made", as: String?.self) != nil {}
    }
}
