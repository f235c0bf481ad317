import Postgres
import TemporaryPostgres

/// A database for ingest and one like it for its yardstick, emptied after each measurement.
struct IngestSetup: Sendable {
    let cluster: BenchmarkCluster
    let program: String
    let connections: Int

    private static let (inbox, yardstick) = ("inbox", "yardstick")

    /// Creates the databases.
    func prepare() async throws {
        for database in [Self.inbox, Self.yardstick] { try await cluster.makeDatabase(database, program: program) }
    }

    /// Starts ingest, posts, and checks that every answered body is stored.
    func own(_ bodies: [[UInt8]], pace: HTTPLoad.Pace) async throws -> IngestRun {
        try await cluster.checkpoint()
        let port = try FreePort.find()
        let databaseURL = cluster.url(Self.inbox, user: "appstore_ingest")
        let run = try await Daemon.withIngest(program: program, databaseURL: databaseURL, port: port) { ingest in
            let before = (try ingest.processorTime(), try cluster.processorTime())
            let load = try await HTTPLoad(port: port, connections: connections, bodies: bodies, pace: pace).run()
            return IngestRun(
                events: load.latencies.count,
                rate: load.rate,
                latencies: Samples(load.latencies),
                serverTime: try ingest.processorTime() - before.0,
                postgresTime: try cluster.processorTime() - before.1,
                clientTime: load.processorTime,
                peakMemory: try ingest.peakMemory()
            )
        }
        let stored = try await empty(Self.inbox)
        guard stored == run.events else {
            throw BenchmarkError(.wrongResult, "\(run.events) posts were answered with 200, and \(stored) are in the inbox")
        }
        return run
    }

    /// Inserts the same rows with pgbench, each in its own transaction.
    func yardstick(_ bodies: [[UInt8]], seconds: Int) async throws -> IngestRun {
        try await cluster.checkpoint()
        let bench = PgBench(
            cluster: cluster,
            database: Self.yardstick,
            script: """
                WITH stored AS (
                    INSERT INTO appstore.inbox (source, received_at, body) VALUES ('notification_v2', clock_timestamp(), :body::bytea)
                    RETURNING event_id, received_at, octet_length(body) AS bytes
                )
                INSERT INTO appstore.inbox_queue (event_id, run_at, bytes) SELECT event_id, received_at, bytes FROM stored;
                """,
            clients: connections,
            seconds: seconds,
            variables: ["body": String(decoding: bodies.first ?? [], as: UTF8.self)]
        )
        let before = try cluster.processorTime()
        let (result, clientTime) = try await bench.run()
        let postgresTime = try cluster.processorTime() - before
        _ = try await empty(Self.yardstick)
        return IngestRun(
            events: result.transactions,
            rate: result.transactionsPerSecond,
            postgresTime: postgresTime,
            clientTime: clientTime
        )
    }

    /// Empties the tables and returns how many events were in both of them.
    private func empty(_ database: String) async throws -> Int {
        try await cluster.withConnection(to: database) { connection in
            let rows = try await connection.query(
                """
                SELECT count(*) AS events FROM appstore.inbox AS i
                WHERE EXISTS (SELECT FROM appstore.inbox_queue AS r WHERE r.event_id = i.event_id AND r.bytes = octet_length(i.body))
                """
            )
            try await connection.runScript("TRUNCATE appstore.inbox, appstore.inbox_queue")
            return Int(try rows.first?.decode("events", as: Int64.self) ?? 0)
        }
    }
}
