import Postgres

/// The queue that many build on PostgreSQL: a claim by `UPDATE … SKIP LOCKED`, then a `DELETE`, each a transaction, in pgbench.
struct QueueYardstick: Sendable {
    static let database = "yardstick"

    let cluster: BenchmarkCluster
    let batch: Int

    /// Makes the table.
    func prepare() async throws {
        let create: Statement = "CREATE DATABASE \(identifier: Self.database)"
        try await cluster.withConnection(to: "postgres") { connection in _ = try await connection.execute(create) }
        try await cluster.withConnection(to: Self.database) { connection in
            try await connection.runScript(
                """
                CREATE TABLE queue (
                    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                    run_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
                    state    text        NOT NULL DEFAULT 'ready',
                    attempts integer     NOT NULL DEFAULT 0,
                    body     bytea       NOT NULL
                );
                CREATE INDEX queue_ready ON queue (run_at, id) WHERE state = 'ready';
                """
            )
        }
    }

    /// Fills the queue with events like ours and empties it.
    func drain(_ events: Int) async throws -> QueueRun {
        try await cluster.withConnection(to: Self.database) { connection in
            try await connection.execute(
                """
                INSERT INTO queue (body)
                SELECT convert_to('{"signedPayload":"e30.' || n || '.e30"}', 'UTF8') FROM generate_series(1, \(Int64(events))) AS n
                """
            )
            try await connection.execute("VACUUM ANALYZE queue")
        }
        try await cluster.checkpoint()
        let clients = QueueDrain.defaultLoops
        let bench = PgBench(
            cluster: cluster,
            database: Self.database,
            script: script,
            clients: clients,
            // A claim gets less than a batch only at the very end; two more for each client make sure of it.
            length: .transactionsPerClient((events + batch * clients - 1) / (batch * clients) + 2)
        )
        let before = try cluster.processorTime()
        let (result, clientTime) = try await bench.run()
        let run = QueueRun(
            // By its own account, which leaves the time to connect out.
            rate: Double(events) / (Double(result.transactions) / result.transactionsPerSecond),
            clientTime: clientTime,
            postgresTime: try cluster.processorTime() - before
        )
        try await cluster.withConnection(to: Self.database) { connection in
            let left = try await connection.query("SELECT count(*) AS left FROM queue").first?.decode("left", as: Int64.self)
            guard left == 0 else { throw BenchmarkError(.yardstick, "the yardstick left \(left ?? -1) events in its queue") }
        }
        return run
    }

    private var script: String {
        """
        WITH due AS (
            SELECT id FROM queue WHERE state = 'ready' AND run_at <= now() ORDER BY run_at, id LIMIT \(batch) FOR UPDATE SKIP LOCKED
        ), claimed AS (
            UPDATE queue SET state = 'running', attempts = attempts + 1 FROM due WHERE queue.id = due.id RETURNING queue.id, queue.body
        )
        SELECT coalesce(array_agg(id), '{}')::text AS ids, sum(octet_length(body)) AS bytes FROM claimed \\gset
        DELETE FROM queue WHERE id = ANY (:ids::bigint[]);
        """
    }
}
