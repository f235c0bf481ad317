import Logging
import Postgres

/// Merges a batch so that one bad event does not stop the others: when a statement fails, the events that it fails for are looked for, with
/// the claim kept, and merged after all others; where that finds too many, or the error is about time or locks, the batch is merged in parts.
struct BatchIsolation<Prepared: Sendable> {
    let events: [ClaimedEvent]
    let merge: InboxQueue<Prepared>.Merge
    let transaction: Transaction
    let retry: RetryPolicy
    /// Whether outcomes are recorded together with the merge, so that an error in recording, too, is only one event's.
    let isCareful: Bool
    /// How long a statement may take, as the transaction has it already.
    let bound: Duration
    let kind: Batch.Kind
    let memory: QueueMemory
    let metrics: QueueMetrics
    let logger: Logger
    private var haste = Haste.none
    /// Whether more events waited in vain than are to blame.
    var hasStalled = false

    init(
        _ events: [ClaimedEvent],
        in transaction: Transaction,
        of queue: InboxQueue<Prepared>,
        bound: Duration,
        kind: Batch.Kind,
        isCareful: Bool
    ) {
        self.events = events
        self.transaction = transaction
        self.isCareful = isCareful
        self.bound = bound
        self.kind = kind
        memory = queue.memory
        merge = queue.merge
        retry = queue.configuration.retry
        metrics = queue.metrics
        logger = queue.logger
    }

    /// How often a batch is repeated when it only lost against another one. Of a conflict that lasts longer the events back off that it is
    /// about, instead of keeping the head of the queue busy for ever.
    private static var maximumRepeats: Int { 3 }
    /// A merge that fails only after such a part of its bound is slow: usually it takes less than a fourth.
    private static var slowness: Int { 3 }
    /// What the server has too little of for longer than that is what the event asks too much of.
    private static var patienceWithServer: Duration { .seconds(86_400) }

    /// One settlement for each prepared event, in order, merged as a whole and without a savepoint.
    ///
    /// - Throws: ``MergeFailure`` for what isolation can deal with in another transaction.
    func settlements(forWhole prepared: [Prepared]) async throws -> [Settlement] {
        let start = ContinuousClock.now
        switch try await trial({ try await merge(prepared, transaction) }) {
        case .passed(let settlements):
            learn(from: prepared.count, since: start)
            return settlements
        case .failed(let error):
            throw MergeFailure(error: error, duration: .now - start)
        }
    }

    /// One settlement for each prepared event, in order; their indices are those of the events. Throws only what says that the transaction itself
    /// is lost.
    ///
    /// - Parameter failure: what they have failed with as a whole in another transaction. After a conflict they are tried again.
    mutating func settlements(for prepared: ArraySlice<Prepared>, after failure: MergeFailure? = nil) async throws -> [Settlement] {
        guard let failure, !Self.isWorthRepeating(failure.error) else {
            let start = ContinuousClock.now
            switch try await trial({ try await merging(prepared) }) {
            case .passed(let settlements):
                learn(from: prepared.count, since: start)
                return settlements
            case .failed(let error):
                return try await isolate(prepared, after: MergeFailure(error: error, duration: .now - start))
            }
        }
        return try await isolate(prepared, after: failure)
    }

    private mutating func isolate(_ prepared: ArraySlice<Prepared>, after failure: MergeFailure) async throws -> [Settlement] {
        let error = failure.error
        guard prepared.count > 1 else {
            if Self.isTimeout(error) { learn(exceeding: bound) }
            return [try await settlement(of: prepared.startIndex, after: error)]
        }
        metrics.split()
        logger.warning("batch is split around an error", metadata: ["batch.events": "\(prepared.count)", "error": "\(error)"])
        // An event that takes long to fail would take as long in each probe.
        let isSlow = failure.duration > bound / Self.slowness
        if !isSlow, let settlements = try await settlementsApart(for: prepared, after: error) { return settlements }
        return try await settlementsInParts(for: prepared, after: error, isSlow: isSlow)
    }

    /// What batches usually take says how long is too long; an event that runs alone has its own bound.
    private func learn(from events: Int, since start: ContinuousClock.Instant) {
        if kind == .company { memory.merged(in: .now - start, events: events) }
    }

    /// Doubles the timeout: the server is slow, or the batch had one event.
    func learn(exceeding bound: Duration) {
        if kind == .company { memory.mergeExceeded(bound) }
    }

    /// Merges behind a savepoint, again after a deadlock, or when a kept plan no longer fits the tables.
    func merging(_ prepared: ArraySlice<Prepared>) async throws -> [Settlement] {
        try await merging(Array(prepared), of: Array(events[prepared.indices]))
    }

    func merging(_ prepared: [Prepared], of events: [ClaimedEvent]) async throws -> [Settlement] {
        var repeats = 0
        while true {
            do {
                return try await transaction.savepoint("merge") { transaction in
                    let settlements = try await merge(prepared, transaction)
                    if isCareful { try await record(settlements, of: events[...], in: transaction) }
                    return settlements
                }
            } catch  where Self.isWorthRepeating(error) && repeats < Self.maximumRepeats {
                repeats += 1
                logger.debug("batch is repeated", metadata: ["batch.repeats": "\(repeats)", "error": "\(error)"])
            }
        }
    }

    /// Whether a batch only lost against another one, or a kept plan no longer fits the tables.
    private static func isWorthRepeating(_ error: any Error) -> Bool {
        guard let error = error as? PostgresError else { return false }
        return error.isSerializationConflict && !error.isLockTimeout || error.isStalePlan
    }

    /// Records outcomes at once, with whatever was put off until the commit.
    private func record(_ settlements: [Settlement], of events: ArraySlice<ClaimedEvent>, in transaction: Transaction) async throws {
        let plan = SettlementPlan(events: events, settlements: settlements, retry: retry)
        _ = try await transaction.pipeline([ClaimedBatch.settle(plan.outcomes, closing: []), "SET CONSTRAINTS ALL IMMEDIATE"])
    }

    /// What came of merging some events.
    enum Trial {
        case passed([Settlement])
        case failed(any Error)
    }

    /// Throws only what says that the transaction itself is lost.
    func trial(_ body: () async throws -> [Settlement]) async throws -> Trial {
        do {
            return .passed(try await body())
        } catch let error as PostgresError where error.endsBatch {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch {
            return .failed(error)
        }
    }

    /// How little a batch waits from now on.
    enum Haste: Int {
        case none
        /// It is merged in parts, and what one part has locked stays locked: it has to give way before PostgreSQL, after a second, takes it
        /// and who waits for it for a deadlock and ends either of them.
        case apart
        /// It has waited in vain, or long for an error: not as long again for each part. A lock has less time than a statement, so that
        /// waiting for one is hardly ever taken for being slow.
        case waited
    }

    mutating func hurry(_ needed: Haste) async throws {
        guard needed.rawValue > haste.rawValue else { return }
        haste = needed
        let timeouts: ClaimedBatch.Timeouts
        switch needed {
        case .none: return
        case .apart: timeouts = ClaimedBatch.Timeouts(statement: bound, lock: min(bound * 4 / 5, .milliseconds(500)))
        case .waited: timeouts = ClaimedBatch.Timeouts(statement: bound / 4, lock: min(bound / 5, .milliseconds(200)))
        }
        _ = try await transaction.query(ClaimedBatch.set(timeouts))
    }

    /// Whether the transaction has other timeouts than before the merge.
    var isInHaste: Bool { haste != .none }

    /// What becomes of an event that failed by itself.
    func settlement(of index: Int, after error: any Error) async throws -> Settlement {
        let event = events[index]
        if let error = error as? PostgresError, error.isLockWait || error.isOfServer && event.age < Self.patienceWithServer {
            return blocked(index, "\(error)")
        }
        if kind == .company, Self.isTimeout(error) { return .suspected(error: "\(error)") }
        logger.error("event could not be merged", metadata: ["error": "\(error)"])
        let failure = Settlement.retry(reason: Self.reason(of: error), error: "\(error)", labels: OutcomeLabels())
        guard isCareful else { return failure }
        do {
            try await transaction.savepoint("failure") { try await record([failure], of: [event], in: $0) }
            return failure
        } catch let error as PostgresError where error.endsBatch {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch  where Self.isOfTime(error) {
            return blocked(index, "\(error)")
        } catch {
            logger.error("outcome could not be recorded", metadata: ["event.id": "\(event.eventID)", "error": "\(error)"])
            return .postponed(by: retry.maximumDelay, error: "the outcome could not be recorded: \(error)")
        }
    }

    /// Postpones an event, the longer it has waited the further: a lock may be kept, or a server may stall, for any time.
    func blocked(_ index: Int, _ error: String) -> Settlement {
        let delay = min(max(.milliseconds(500), events[index].age / 4), .seconds(30))
        return .postponed(by: delay * Double.random(in: 0.5...1), error: error)
    }

    private static func reason(of error: any Error) -> String {
        if isTimeout(error) { return "timed_out" }
        return (error as? PostgresError)?.isSerializationConflict == true ? "conflict" : "merge_failed"
    }

    static func isTimeout(_ error: any Error) -> Bool {
        (error as? PostgresError)?.sqlState == .queryCanceled
    }

    /// Whether a statement took too long, or waited for a lock in vain: to try again would take as long.
    static func isOfTime(_ error: any Error) -> Bool {
        isTimeout(error) || (error as? PostgresError)?.isLockWait == true
    }
}

extension PostgresError {
    /// Whether the batch is to be forgotten, because the error is about its transaction and not about an event in it. A statement that was
    /// cancelled after its time-out (57014) is an event's fault; a server that shuts down (57P01 to 57P03) is not.
    var endsBatch: Bool {
        isConnectionLoss || code == .timeout || code == .closed || sqlState == .readOnlyTransaction || sqlState == .idleInTransactionTimeout
    }

    /// Whether a lock was not had in time.
    fileprivate var isLockTimeout: Bool { sqlState == .lockNotAvailable }

    /// Whether a wait for a lock failed, which is not the fault of the event that waited.
    fileprivate var isLockWait: Bool { isLockTimeout || sqlState == .deadlockDetected }

    /// Whether the server has too little of something, disk or memory say, cannot read or write a file, or does not have what the program's own
    /// statements name: a schema of another version, or a right that is missing.
    var isOfServer: Bool { sqlState.map { ["53", "58", "42"].contains($0.conditionClass) } ?? false }
}
