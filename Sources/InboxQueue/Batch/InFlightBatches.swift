import Postgres
import ServiceSupport
import Synchronization

/// What the batches of this process are merging, and which events of failed ones are being run one by one.
///
/// Two events of one contract are merged one after the other: the second batch waits at the contract's lock until the first one has committed,
/// with all other events that it has. In a backlog of interleaved customers nearly every batch would wait so. Instead an event whose contract
/// another batch has is released, and claimed again with one of the next batches.
///
/// Two limits keep that from going on for ever. An event is released a few times only, so that a contract that is never free does not starve it.
/// A batch of which most events would be released keeps them all and waits, so that a backlog of one contract is not claimed again and again.
final class InFlightBatches: Sendable {
    private struct State {
        /// The events of failed batches, until each of them has run by itself.
        var failed: [QueueStatements.Lane: Set<Int64>] = [:]
        /// What each batch is merging.
        var subjects: [QueueStatements.Lane: Set<String>] = [:]
        /// How often events were released that have not been merged since, as far as this process knows: another one may have merged them.
        var releases: [Int64: Int] = [:]
    }

    private let state = Mutex(State())

    /// How often one event is released.
    private static var maximumReleases: Int { 16 }
    /// How many released events are remembered.
    private static var memory: Int { 10_000 }

    /// Takes up what the events of a batch are about, and returns those to release because another batch has the same.
    func enter(_ lane: QueueStatements.Lane, with subjects: [(eventID: Int64, names: [String])]) -> Set<Int64> {
        state.withLock { state in
            func isInFlight(_ name: String) -> Bool { state.subjects.values.contains { $0.contains(name) } }
            let contested = subjects.filter {
                $0.names.contains(where: isInFlight) && state.releases[$0.eventID, default: 0] < Self.maximumReleases
            }
            let released = Set(contested.count * 2 <= subjects.count ? contested.map(\.eventID) : [])
            let kept = subjects.filter { !released.contains($0.eventID) }
            state.subjects[lane] = Set(kept.flatMap(\.names))
            if state.releases.count > Self.memory { state.releases = [:] }
            for event in released { state.releases[event, default: 0] += 1 }
            for event in kept where !state.releases.isEmpty { state.releases[event.eventID] = nil }
            return released
        }
    }

    /// The transaction of the batch has ended.
    func leave(_ lane: QueueStatements.Lane) {
        state.withLock { _ = $0.subjects.removeValue(forKey: lane) }
    }

    /// The batch has failed because of one of these events, which are run one by one until ``end(_:)``.
    func failed(_ events: [Int64], in lane: QueueStatements.Lane) {
        state.withLock { $0.failed[lane] = Set(events) }
    }

    /// Those of claimed events that another loop is running one by one: no batch may fail because of them again.
    func failed(among events: [Int64]) -> Set<Int64> {
        state.withLock { state in state.failed.values.reduce(into: []) { $0.formUnion($1.intersection(events)) } }
    }

    /// The events of a failed batch have run.
    func end(_ lane: QueueStatements.Lane) {
        state.withLock { _ = $0.failed.removeValue(forKey: lane) }
    }
}

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
