import Postgres

/// Polls a worker's progress through a backlog, at little cost for PostgreSQL.
struct BacklogPoller: Sendable {
    let connection: Connection

    /// The least and the greatest event id that are ready now. The greatest is settled last or nearly last.
    func ready() async throws -> (first: Int64, last: Int64) {
        let row = try await connection.query(
            """
            SELECT coalesce(min(event_id), 0) AS first, coalesce(max(event_id), 0) AS last
            FROM appstore.inbox_queue WHERE run_at <= clock_timestamp()
            """
        )[0]
        return (try row.decode("first"), try row.decode("last"))
    }

    /// The database's clock, in microseconds.
    func now() async throws -> Int64 {
        let rows = try await connection.query("SELECT clock_timestamp() AS now")
        return try rows.first?.decode("now", as: PostgresTimestamp.self).microsecondsSince2000 ?? 0
    }

    /// The timeout for so many events: a minute plus a fiftieth of a second for each, which is far slower than any machine.
    static func timeout(for events: Int) -> Duration { .seconds(60 + events / 50) }

    /// Waits until the event and all before it are settled. Throws when the worker ends before that, or at the timeout.
    func awaitSettled(_ target: Int64, by worker: Daemon, within timeout: Duration) async throws {
        try await awaitSettled(target, by: worker, atMost: timeout)
        guard try await isSettled(target) else {
            throw BenchmarkError(.wrongResult, "the worker has not settled its backlog within \(timeout)")
        }
    }

    /// Waits until the event and all before it are settled, or until the limit. Throws when the worker ends before that.
    func awaitSettled(_ target: Int64, by worker: Daemon, atMost limit: Duration) async throws {
        let end = ContinuousClock.now + limit
        // Events are claimed by time, here the order of ids: this cheap query by primary key is nearly always enough.
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

    /// Whether the event and all before it are settled, including postponed ones.
    private func isSettled(_ target: Int64) async throws -> Bool {
        try await !exists("SELECT EXISTS (SELECT FROM appstore.inbox_queue WHERE event_id <= \(target)) AS found")
    }

    /// The outcomes of the events from `first` on that were recorded since an instant: the time of the last one, and the count of each result.
    func outcomes(since start: Int64, from first: Int64) async throws -> (end: Int64, results: [String: Int]) {
        let rows = try await connection.query(
            """
            SELECT result, count(*) AS events, max(settled_at) AS last FROM appstore.outcomes
            WHERE event_id >= \(first) AND settled_at >= \(PostgresTimestamp(microsecondsSince2000: start)) GROUP BY result
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
