import Postgres

/// What PostgreSQL does for deliveries to endpoints, without the network: two ways to keep what is delivered.
enum DeliveryShape: CaseIterable, Sendable {
    /// A cursor for each endpoint over the feed. A delivery writes a row of the attempt, a batch moves the cursor.
    case cursor
    /// A row for each entry and endpoint, which is made, claimed by `SKIP LOCKED`, and deleted with the row of the attempt, as Svix's queue.
    case rows

    /// One measurement.
    struct Run: Sendable {
        let deliveries: Int
        let seconds: Double
        let logBytes: Int

        var rate: Double { Double(deliveries) / seconds }
    }

    private static let batch = 100

    /// Delivers the first entries of a feed to so many endpoints, in batches of 100, in one session.
    func measure(entries: Int, endpoints: Int, in database: String, of cluster: BenchmarkCluster) async throws -> Run {
        try await cluster.withConnection(to: database) { connection in
            try await connection.runScript(Self.tables)
            _ = try await connection.execute(
                "INSERT INTO shape.endpoints (name) SELECT 'endpoint ' || n FROM generate_series(1, \(Int32(endpoints))) AS n"
            )
            try await cluster.checkpoint()
            let log = try await FeedRun.logPosition(connection)
            let start = SteadyClock.now()
            try await connection.runScript(script(entries: entries))
            let seconds = SteadyClock.now() - start
            let bytes = try await FeedRun.logPosition(connection) - log
            let delivered = try await connection.query("SELECT count(*) FROM shape.attempts")[0].decode(0, as: Int64.self)
            guard delivered == entries * endpoints else {
                throw BenchmarkError(.wrongResult, "\(delivered) deliveries were recorded instead of \(entries * endpoints)")
            }
            return Run(deliveries: entries * endpoints, seconds: seconds, logBytes: bytes)
        }
    }

    private static let tables = """
        DROP SCHEMA IF EXISTS shape CASCADE;
        CREATE SCHEMA shape;
        CREATE TABLE shape.endpoints (name text PRIMARY KEY, position bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50);
        CREATE TABLE shape.attempts (
            attempt_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, endpoint text NOT NULL, position bigint NOT NULL,
            at timestamptz NOT NULL DEFAULT clock_timestamp(), is_redelivery boolean NOT NULL DEFAULT false, result text NOT NULL,
            status integer, milliseconds integer NOT NULL, answer_bytes bigint NOT NULL, answer text, error text
        );
        CREATE INDEX ON shape.attempts (endpoint, position);
        CREATE TABLE shape.deliveries (
            delivery_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, endpoint text NOT NULL, position bigint NOT NULL,
            state text NOT NULL DEFAULT 'ready', run_at timestamptz NOT NULL DEFAULT clock_timestamp(), attempts integer NOT NULL DEFAULT 0
        );
        CREATE INDEX ON shape.deliveries (run_at, delivery_id) WHERE state = 'ready';
        """

    /// Reads the entries, as a sender does, and commits after each statement that a dispatcher would commit.
    private func script(entries: Int) -> String {
        switch self {
        case .cursor:
            """
            DO $$
            DECLARE
                v_endpoint  text;
                v_positions bigint[];
                v_bytes     bigint;
            BEGIN
                FOR v_endpoint IN SELECT e.name FROM shape.endpoints AS e LOOP
                    LOOP
                        SELECT array_agg(f.position), sum(octet_length(f.data::text)) INTO v_positions, v_bytes
                        FROM (SELECT f.position, f.data FROM appstore.feed AS f
                              WHERE f.position > (SELECT e.position FROM shape.endpoints AS e WHERE e.name = v_endpoint)
                                AND f.position <= \(entries) ORDER BY f.position LIMIT \(Self.batch)) AS f;
                        EXIT WHEN v_positions IS NULL;
                        INSERT INTO shape.attempts (endpoint, position, result, status, milliseconds, answer_bytes)
                        SELECT v_endpoint, delivered.position, 'delivered', 200, 20, 2 FROM unnest(v_positions) AS delivered (position);
                        UPDATE shape.endpoints AS e SET position = v_positions[cardinality(v_positions)] WHERE e.name = v_endpoint;
                        COMMIT;
                    END LOOP;
                END LOOP;
            END
            $$
            """
        case .rows:
            """
            DO $$
            DECLARE
                v_ids   bigint[];
                v_bytes bigint;
            BEGIN
                FOR v_first IN 1..\(entries) BY \(Self.batch) LOOP
                    INSERT INTO shape.deliveries (endpoint, position)
                    SELECT e.name, f.position FROM appstore.feed AS f CROSS JOIN shape.endpoints AS e
                    WHERE f.position BETWEEN v_first AND least(v_first + \(Self.batch - 1), \(entries)) ORDER BY f.position;
                    COMMIT;
                    LOOP
                        WITH claimed AS (
                            UPDATE shape.deliveries AS d
                            SET state = 'sending', attempts = d.attempts + 1, run_at = clock_timestamp() + interval '1 minute'
                            FROM (SELECT due.delivery_id FROM shape.deliveries AS due WHERE due.state = 'ready' AND due.run_at <= clock_timestamp()
                                  ORDER BY due.run_at, due.delivery_id LIMIT \(Self.batch) FOR UPDATE SKIP LOCKED) AS due
                            WHERE d.delivery_id = due.delivery_id RETURNING d.delivery_id, d.position
                        )
                        SELECT array_agg(c.delivery_id), sum(octet_length(f.data::text)) INTO v_ids, v_bytes
                        FROM claimed AS c JOIN appstore.feed AS f ON f.position = c.position;
                        EXIT WHEN v_ids IS NULL;
                        COMMIT;
                        WITH ended AS (
                            DELETE FROM shape.deliveries AS d WHERE d.delivery_id = ANY (v_ids) RETURNING d.endpoint, d.position
                        )
                        INSERT INTO shape.attempts (endpoint, position, result, status, milliseconds, answer_bytes)
                        SELECT ended.endpoint, ended.position, 'delivered', 200, 20, 2 FROM ended;
                        COMMIT;
                    END LOOP;
                END LOOP;
            END
            $$
            """
        }
    }
}
