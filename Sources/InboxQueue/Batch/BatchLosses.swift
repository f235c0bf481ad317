import Postgres

/// Limits batches after those of this process that were lost because their connection ended: by a restart, a timeout, or the network.
///
/// That may happen again sooner than a large batch commits, and the same events would be taken for ever. So a lost batch is followed by ones
/// of half its size, down to single events, and each full one that was committed by one a quarter larger. Where the same event was alone in its
/// batch each time, it may be what ends PostgreSQL's session, by its size for instance: it runs by itself, after longer and longer pauses, and is
/// given up after ten of them.
struct BatchLosses: Sendable {
    private struct Record: Sendable {
        var losses = 0
        /// ``BatchLosses/commits`` at the last loss.
        var commits = 0
        /// Whether it has waited since the last loss, so that it runs now.
        var hasWaited = false
    }

    /// Losses that may be chance.
    private static var tolerated: Int { 2 }
    /// The pauses of an event before it is given up; together some 40 minutes.
    private static var maximumPauses: Int { 10 }
    private static var capacity: Int { 1000 }

    private let maximum: Int
    /// How many events the next batch may take.
    private(set) var limit: Int
    /// Events that were alone in a batch that was lost.
    private var records: [Int64: Record] = [:]
    /// Batches with events that were committed.
    private var commits = 0
    private let backoff = Backoff(base: .seconds(5), cap: .seconds(600), jitter: 0.5)

    init(maximum: Int) {
        self.maximum = maximum
        limit = maximum
    }

    /// A batch of that size was lost.
    mutating func lost(batchOf size: Int) {
        guard size > 0 else { return }
        limit = max(1, min(limit, size / 2))
    }

    /// A batch was lost in which the event was alone.
    mutating func lost(alone event: Int64) {
        if records[event] == nil, records.count >= Self.capacity { records.removeAll() }
        records[event] = Record(losses: (records[event]?.losses ?? 0) + 1, commits: commits)
    }

    /// A batch of that size was committed, in which these events have run.
    mutating func committed(batchOf size: Int, _ events: [Int64]) {
        if size >= limit { limit = min(maximum, limit + max(1, limit / 4)) }
        if !events.isEmpty { commits += 1 }
        guard !records.isEmpty else { return }
        for event in events { records[event] = nil }
    }

    /// Those of claimed events that are to be given up. Others must have been committed since the last loss: else the cause may be none of an event.
    func lastLosses(among events: [Int64]) -> [Int64] {
        records.isEmpty
            ? []
            : events.filter { event in
                records[event].map { $0.losses > Self.tolerated + Self.maximumPauses && commits > $0.commits } ?? false
            }
    }

    /// Those of claimed events that are to wait, and for how long.
    mutating func delays(of events: [Int64]) -> [Int64: Duration] {
        guard !records.isEmpty else { return [:] }
        var generator = SystemRandomNumberGenerator()
        var delays: [Int64: Duration] = [:]
        for event in events {
            guard let record = records[event], record.losses > Self.tolerated, !record.hasWaited else { continue }
            delays[event] = backoff.delay(afterFailures: record.losses - Self.tolerated, using: &generator)
            records[event]?.hasWaited = true
        }
        return delays
    }
}
