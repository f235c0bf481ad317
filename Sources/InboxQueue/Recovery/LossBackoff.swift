import Synchronization

/// What the batches of one process learn from those that were lost for a reason that is no event's: a restart, a timeout, a network that cuts
/// connections.
///
/// Such a reason may come back sooner than a large batch commits, so that the next batches are smaller. Where the same event was alone in its
/// batch each time, it may be what ends PostgreSQL's session, by its size for instance: it waits longer and longer, and runs by itself.
final class BatchLosses: Sendable {
    private struct State {
        var limit: BatchLimit
        var backoff = LossBackoff()
        /// Events of failed batches that are being run one by one.
        var singles: Set<Int64> = []
    }

    private let state: Mutex<State>

    init(maximumEvents: Int) {
        state = Mutex(State(limit: BatchLimit(maximum: maximumEvents)))
    }

    /// How many events the next batch may take.
    var batchLimit: Int { state.withLock(\.limit.events) }

    func lost(_ events: [Int64]) {
        guard !events.isEmpty else { return }
        state.withLock { state in
            state.limit.lost(events.count)
            if events.count == 1 { state.backoff.lost(events[0]) }
        }
    }

    func committed(_ plan: SettlementPlan) {
        state.withLock { state in
            state.limit.committed(plan.outcomes.count + plan.retries.count)
            state.backoff.committed(plan.outcomes.map(\.event.eventID) + plan.retries.filter(\.isAttempt).map(\.event.eventID))
        }
    }

    func begin(singles: [Int64]) { state.withLock { $0.singles.formUnion(singles) } }
    func end(singles: [Int64]) { state.withLock { $0.singles.subtract(singles) } }

    /// Those of claimed events that are being run one by one, since a batch failed because of one of them.
    func failedTogether(_ events: [Int64]) -> Set<Int64> {
        state.withLock { $0.singles.isEmpty ? [] : $0.singles.intersection(events) }
    }

    /// Those of claimed events that are to wait, and for how long.
    func delays(of events: [Int64]) -> [Int64: Duration] {
        state.withLock { $0.backoff.delays(of: events) }
    }
}

/// Which events were alone in a batch that was lost, several times in a row.
struct LossBackoff: Sendable {
    private struct Record: Sendable {
        var losses = 0
        /// Whether it has been told to wait since the last loss, so that it is its turn again.
        var hasWaited = false
    }

    /// Losses that may be chance.
    private let tolerated = 2
    private let policy = RetryPolicy(maximumAttempts: .max, baseDelay: .seconds(5), maximumDelay: .seconds(600))
    private let capacity = 1000
    private var records: [Int64: Record] = [:]

    mutating func lost(_ event: Int64) {
        if records[event] == nil, records.count >= capacity { records.removeAll() }
        records[event, default: Record()].losses += 1
        records[event]?.hasWaited = false
    }

    /// Those of claimed events that are to wait, and for how long.
    mutating func delays(of events: [Int64]) -> [Int64: Duration] {
        guard !records.isEmpty else { return [:] }
        var generator = SystemRandomNumberGenerator()
        var delays: [Int64: Duration] = [:]
        for event in events {
            guard let record = records[event], record.losses > tolerated, !record.hasWaited else { continue }
            delays[event] = policy.delay(afterFailures: record.losses - tolerated, using: &generator)
            records[event]?.hasWaited = true
        }
        return delays
    }

    /// These have run, and their batch was committed.
    mutating func committed(_ events: [Int64]) {
        guard !records.isEmpty else { return }
        for event in events { records[event] = nil }
    }
}
