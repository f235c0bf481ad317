import Postgres

/// Sees outcomes as they become visible to others.
struct OutcomeWatch: Sendable {
    /// What the rows themselves say of an event.
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

    /// Waits until so many events after one are settled, and answers when each was first seen to be, by ``SteadyClock``.
    ///
    /// - Parameters:
    ///   - patience: how long to wait at most.
    ///   - check: throws when there is nothing to wait for any more.
    func awaitOutcomes(
        _ count: Int,
        after first: Int64,
        within patience: Duration,
        check: @Sendable () throws -> Void
    ) async throws -> [Int64: Double] {
        try await cluster.withConnection(to: database) { connection in
            // New rows are more than the statistics know of: a plan that reads the whole table each time would be a load of its own.
            try await connection.runScript("SET enable_seqscan = off")
            var seen: [Int64: Double] = [:]
            // All events up to the mark are settled.
            var mark = first
            let limit = ContinuousClock.now + patience
            while seen.count < count {
                guard ContinuousClock.now < limit else {
                    throw BenchmarkError(.wrongResult, "\(count) events were awaited, and \(seen.count) were settled within \(patience)")
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

    /// What was recorded of the events after one.
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
