import Logging
import Postgres

/// Merges a batch so that one bad event does not stop the others: when a statement fails, the events that it fails for are looked for, with
/// the claim kept, and merged after all others; where that finds too many, or the error is about time or locks, the batch is halved.
struct BatchIsolation<Prepared: Sendable> {
    let events: [ClaimedEvent]
    let merge: InboxQueue<Prepared>.Merge
    let transaction: Transaction
    let retry: RetryPolicy
    /// Whether outcomes are recorded together with the merge, so that an error in recording, too, is only one event's.
    let isCareful: Bool
    /// How long a statement may take, as the transaction has it already.
    private let bound: Duration
    private let kind: Batch.Kind
    private let memory: QueueMemory
    let metrics: QueueMetrics
    let logger: Logger
    private var waits = 0
    private var haste = Haste.none

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
    /// How often a batch waits in vain, for locks that others keep or for a statement to end, to find out which of its events are concerned;
    /// whoever has not been tried then comes back later.
    private static var maximumWaits: Int { 12 }

    /// What the server has too little of for longer than that is what the event asks too much of.
    private static var patienceWithServer: Duration { .seconds(86_400) }

    /// One settlement for each prepared event, in order; their indices are those of the events. Throws only what says that the transaction itself
    /// is lost.
    mutating func settlements(for prepared: ArraySlice<Prepared>) async throws -> [Settlement] {
        guard waits < Self.maximumWaits else {
            return prepared.indices.map { blocked(events[$0], "not tried: the batch waited in vain too often") }
        }
        let start = ContinuousClock.now
        do {
            let settlements = try await merging(prepared)
            if haste == .none { learn(from: prepared.count, since: start) }
            return settlements
        } catch let error as PostgresError where error.endsBatch {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch {
            if haste == .none, Self.isTimeout(error) { learn(from: prepared.count, since: start, exceeding: bound) }
            guard prepared.count > 1 else {
                try await hurry(after: error)
                return [try await settlement(of: events[prepared.startIndex], after: error)]
            }
            metrics.split()
            logger.warning("batch is split around an error", metadata: ["batch.events": "\(prepared.count)", "error": "\(error)"])
            if haste == .none, let settlements = try await settlementsApart(for: prepared, after: error) { return settlements }
            try await hurry(after: error)
            let middle = prepared.startIndex + prepared.count / 2
            return try await settlements(for: prepared[..<middle]) + settlements(for: prepared[middle...])
        }
    }

    /// What batches usually take says how long is too long; an event that runs alone has its own bound.
    private func learn(from events: Int, since start: ContinuousClock.Instant, exceeding bound: Duration? = nil) {
        guard kind == .company else { return }
        memory.merged(in: .now - start, events: events, exceeding: bound)
    }

    /// Merges behind a savepoint, again after a deadlock.
    private func merging(_ prepared: ArraySlice<Prepared>) async throws -> [Settlement] {
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
            } catch let error as PostgresError
                where error.isSerializationConflict && !error.isLockTimeout && repeats < Self.maximumRepeats
            {
                repeats += 1
                logger.debug("batch is repeated after a conflict", metadata: ["batch.repeats": "\(repeats)", "error": "\(error)"])
            }
        }
    }

    /// Records outcomes at once, with whatever was put off until the commit.
    private func record(_ settlements: [Settlement], of events: ArraySlice<ClaimedEvent>, in transaction: Transaction) async throws {
        let plan = SettlementPlan(events: events, settlements: settlements, retry: retry)
        _ = try await transaction.pipeline(ClaimedBatch.settle(plan.outcomes) + ["SET CONSTRAINTS ALL IMMEDIATE"])
    }

    /// How little a batch waits from now on.
    enum Haste: Int {
        case none
        /// It is merged in parts, and what one part has locked stays locked: it has to give way before PostgreSQL, after a second, takes it
        /// and who waits for it for a deadlock and ends either of them.
        case apart
        /// It has waited in vain: not as long again for each part.
        case waited
    }

    private mutating func hurry(after error: any Error) async throws {
        let error = error as? PostgresError
        if error?.isOfTime == true { waits += 1 }
        try await hurry(error?.isOfTime == true ? .waited : .apart)
    }

    mutating func hurry(_ needed: Haste) async throws {
        guard needed.rawValue > haste.rawValue else { return }
        haste = needed
        let limits: [Statement] =
            switch needed {
            case .none: []
            case .apart: ["SET LOCAL lock_timeout = '500ms'"]
            case .waited:
                [
                    "SET LOCAL lock_timeout = '200ms'",
                    "SET LOCAL statement_timeout = \(unsafeRaw: "\(max(bound.wholeMilliseconds / 3, 1))")",
                ]
            }
        _ = try await transaction.pipeline(limits)
    }

    /// What becomes of an event that failed by itself.
    private func settlement(of event: ClaimedEvent, after error: any Error) async throws -> Settlement {
        if let error = error as? PostgresError, error.isLockWait || error.isOfServer && event.age < Self.patienceWithServer {
            return blocked(event, "\(error)")
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
        } catch {
            logger.error("outcome could not be recorded", metadata: ["event.id": "\(event.eventID)", "error": "\(error)"])
            return .postponed(by: retry.maximumDelay, error: "the outcome could not be recorded: \(error)")
        }
    }

    /// Comes back the later the longer it has waited: nobody knows how long a lock is kept.
    private func blocked(_ event: ClaimedEvent, _ error: String) -> Settlement {
        let delay = min(max(.seconds(1), event.age / 4), .seconds(30))
        return .postponed(by: delay * Double.random(in: 0.5...1), error: error)
    }

    private static func reason(of error: any Error) -> String {
        if isTimeout(error) { return "timed_out" }
        return (error as? PostgresError)?.isSerializationConflict == true ? "conflict" : "merge_failed"
    }

    private static func isTimeout(_ error: any Error) -> Bool {
        (error as? PostgresError)?.sqlState == .queryCanceled
    }
}

extension PostgresError {
    /// Whether the batch is to be forgotten, because the error is about its transaction and not about an event in it. A statement that was
    /// cancelled after its time-out (57014) is an event's fault; a server that shuts down (57P01 to 57P03) is nobody's.
    var endsBatch: Bool {
        isConnectionLoss || code == .timeout || code == .closed || sqlState == .readOnlyTransaction || sqlState == .idleInTransactionTimeout
    }

    /// Whether a lock was not had in time.
    fileprivate var isLockTimeout: Bool { sqlState == .lockNotAvailable }

    /// Whether it was in vain to wait for a lock: whose fault it is, nobody knows, but not the event's that waited for it.
    fileprivate var isLockWait: Bool { isLockTimeout || sqlState == .deadlockDetected }

    /// Whether the server has too little of something, disk or memory say, or cannot read or write a file.
    var isOfServer: Bool { sqlState.map { ["53", "58"].contains($0.conditionClass) } ?? false }

    /// Whether a statement took too long, or waited for a lock in vain: to try again would take as long.
    var isOfTime: Bool { isLockWait || sqlState == .queryCanceled }
}
