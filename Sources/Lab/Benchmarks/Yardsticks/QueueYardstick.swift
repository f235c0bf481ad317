import Postgres

/// A common queue on PostgreSQL: a claim by `UPDATE … SKIP LOCKED`, then a `DELETE`, each a transaction, in pgbench.
struct QueueYardstick: Sendable {
    static let database = "yardstick"

    let cluster: BenchmarkCluster
    let batch: Int
    /// Events in the queue when a measurement begins; more than are taken until it ends.
    private var stock: Int

    init(cluster: BenchmarkCluster, batch: Int, stock: Int = 100_000) {
        self.cluster = cluster
        self.batch = batch
        self.stock = stock
    }

    /// Creates the table.
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

    /// Counts the events that clients take in so many seconds. There is a client for each batch that a worker would have in flight, and the
    /// queue does not run empty.
    mutating func measure(seconds: Int) async throws -> QueueRun {
        while true {
            if let run = try await attempt(seconds: seconds) { return run }
            // The queue nearly ran empty.
            stock *= 2
        }
    }

    /// Nil when the queue ran nearly empty.
    private func attempt(seconds: Int) async throws -> QueueRun? {
        try await fill()
        try await cluster.checkpoint()
        let clients = QueueDrain.defaultLoops
        let bench = PgBench(
            cluster: cluster,
            database: Self.database,
            script: script,
            clients: clients,
            threads: clients,
            seconds: seconds
        )
        let before = (events: try await length(), time: try cluster.processorTime())
        let (result, clientTime) = try await bench.run()
        let postgresTime = try cluster.processorTime() - before.time
        let left = try await length()
        // With fewer, a claim may have returned less than a batch.
        guard left >= batch * clients else { return nil }
        let events = before.events - left
        return QueueRun(
            events: events,
            // pgbench's rate leaves out the time to connect.
            rate: Double(events) / (Double(result.transactions) / result.transactionsPerSecond),
            clientTime: clientTime,
            postgresTime: postgresTime
        )
    }

    /// Fills the queue up to `stock`, with bodies like those of the inbox.
    private func fill() async throws {
        let missing = stock - (try await length())
        try await cluster.withConnection(to: Self.database) { connection in
            if missing > 0 {
                try await connection.execute(
                    """
                    INSERT INTO queue (body)
                    SELECT convert_to('{"signedPayload":"e30.' || n || '.e30"}', 'UTF8') FROM generate_series(1, \(Int64(missing))) AS n
                    """
                )
            }
            try await connection.execute("VACUUM ANALYZE queue")
        }
    }

    private func length() async throws -> Int {
        try await cluster.withConnection(to: Self.database) { connection in
            Int(try await connection.query("SELECT count(*) AS events FROM queue").first?.decode("events", as: Int64.self) ?? 0)
        }
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
