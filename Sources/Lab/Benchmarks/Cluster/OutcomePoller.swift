import Postgres

/// Polls for outcomes from another session.
struct OutcomePoller: Sendable {
    /// An event's rows.
    struct Settled: Sendable {
        let eventID: Int64
        /// SHA-256 of the body.
        let bodyHash: [UInt8]
        /// From `received_at` to `settled_at`.
        let milliseconds: Double
    }

    let cluster: BenchmarkCluster
    let database: String

    /// The greatest event id so far.
    func latestEvent() async throws -> Int64 {
        try await cluster.withConnection(to: database) { connection in
            let rows = try await connection.query("SELECT coalesce(max(event_id), 0) AS latest FROM appstore.inbox")
            return try rows.first?.decode("latest", as: Int64.self) ?? 0
        }
    }

    /// Waits until `count` events after `first` are settled. Returns when each outcome was first seen, by ``SteadyClock``.
    ///
    /// - Parameter check: throws when waiting is pointless, such as when the worker has ended.
    func awaitOutcomes(
        _ count: Int,
        after first: Int64,
        within timeout: Duration,
        check: @Sendable () throws -> Void
    ) async throws -> [Int64: Double] {
        try await cluster.withConnection(to: database) { connection in
            // The statistics lag behind the new rows; a sequential scan on each poll would load PostgreSQL.
            try await connection.runScript("SET enable_seqscan = off")
            var seen: [Int64: Double] = [:]
            // All events up to this id are settled.
            var mark = first
            let limit = ContinuousClock.now + timeout
            while seen.count < count {
                guard ContinuousClock.now < limit else {
                    throw BenchmarkError(.wrongResult, "\(count) events were awaited, and \(seen.count) were settled within \(timeout)")
                }
                let rows = try await connection.query("SELECT event_id FROM appstore.outcomes WHERE event_id > \(mark) ORDER BY event_id")
                let now = SteadyClock.now()
                for row in rows {
                    let id = try row.decode("event_id", as: Int64.self)
                    if seen[id] == nil { seen[id] = now }
                }
                while seen[mark + 1] != nil { mark += 1 }
                try check()
                try await Task.sleep(for: .milliseconds(2))
            }
            return seen
        }
    }

    /// The settled events after an id.
    func rows(after first: Int64) async throws -> [Settled] {
        try await cluster.withConnection(to: database) { connection in
            let rows = try await connection.query(
                """
                SELECT o.event_id, sha256(i.body) AS hash, (extract(epoch FROM o.settled_at - o.received_at) * 1000000)::bigint AS delay
                FROM appstore.outcomes AS o JOIN appstore.inbox AS i ON i.event_id = o.event_id
                WHERE o.event_id > \(first)
                """
            )
            return try rows.map { row in
                Settled(
                    eventID: try row.decode("event_id"),
                    bodyHash: try row.decode("hash"),
                    milliseconds: Double(try row.decode("delay", as: Int64.self)) / 1000
                )
            }
        }
    }
}
