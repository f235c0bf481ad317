import Postgres

/// Sees how far a worker has come, at next to no cost for PostgreSQL.
struct BacklogWatch: Sendable {
    let connection: Connection

    /// The event that is settled last, or nearly so: the greatest that is ready now.
    func target() async throws -> Int64 {
        let rows = try await connection.query("SELECT max(event_id) AS last FROM appstore.inbox_queue WHERE run_at <= clock_timestamp()")
        return try rows.first?.decode("last", as: Int64?.self) ?? 0
    }

    /// The database's clock, in microseconds.
    func now() async throws -> Int64 {
        let rows = try await connection.query("SELECT clock_timestamp() AS now")
        return try rows.first?.decode("now", as: PostgresTimestamp.self).microsecondsSince2000 ?? 0
    }

    /// How long that many events may take at most: a minute, and what fifty a second would take, which is far slower than any machine.
    static func patience(for events: Int) -> Duration { .seconds(60 + events / 50) }

    /// Waits until the event and all before it are settled, and throws when the worker ends before that or takes too long.
    func awaitSettled(_ target: Int64, by worker: Daemon, within patience: Duration) async throws {
        try await awaitSettled(target, by: worker, atMost: patience)
        guard try await isSettled(target) else {
            throw BenchmarkError(.wrongResult, "the worker has not settled its backlog within \(patience)")
        }
    }

    /// Waits until the event and all before it are settled, or so long, and throws when the worker ends before that.
    func awaitSettled(_ target: Int64, by worker: Daemon, atMost limit: Duration) async throws {
        let end = ContinuousClock.now + limit
        // The claim goes by time, which is the order of ids here: nothing but the primary key is asked for nearly all of the time.
        while try await exists("SELECT EXISTS (SELECT FROM appstore.inbox_queue WHERE event_id = \(target)) AS found") {
            try worker.check()
            if ContinuousClock.now >= end { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        while try await !isSettled(target) {
            try worker.check()
            if ContinuousClock.now >= end { return }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Whether the event and all before it are settled, those included that a worker has put off.
    private func isSettled(_ target: Int64) async throws -> Bool {
        try await !exists("SELECT EXISTS (SELECT FROM appstore.inbox_queue WHERE event_id <= \(target)) AS found")
    }

    /// What was recorded since an instant: when the last of it, and how often each result.
    func outcomes(since start: Int64) async throws -> (end: Int64, results: [String: Int]) {
        let rows = try await connection.query(
            """
            SELECT result, count(*) AS events, max(settled_at) AS last
            FROM appstore.outcomes WHERE settled_at >= \(PostgresTimestamp(microsecondsSince2000: start)) GROUP BY result
            """
        )
        var (end, results) = (start, [String: Int]())
        for row in rows {
            results[try row.decode("result", as: String.self)] = Int(try row.decode("events", as: Int64.self))
            end = max(end, try row.decode("last", as: PostgresTimestamp.self).microsecondsSince2000)
        }
        return (end, results)
    }

    private func exists(_ statement: Statement) async throws -> Bool {
        try await connection.query(statement).first?.decode("found", as: Bool.self) ?? false
    }
}
