import Logging
import Postgres
import Synchronization

/// How events run by themselves, and what becomes of one that fails.
extension EventQueue {
    /// How many events of a failed batch may be slow, or wait for what the server lacks. With more of them the server is the cause.
    private static var maximumBlocked: Int { 6 }
    /// How long an event may be blocked without an attempt. After that, the event may ask for too much.
    private static var longestBlockade: Duration { .seconds(86_400) }
    /// How long single events may take together, in timeouts of a batch. The others of the batch are claimed again, in a smaller one.
    private static var longestRun: Int { 4 }

    /// Commits the events of a failed batch one by one, and isolates those that fail by themselves.
    ///
    /// - Throws: what the server lacks, when it lacks it for many events; no event has lost an attempt for that.
    func commitSingly(of batch: Batch) async throws -> BatchReport {
        var report = BatchReport()
        report.isFull = true
        inFlight.failed(batch.singles.sorted(), in: batch.lane)
        let end = ContinuousClock.now + configuration.batchTimeout * Self.longestRun
        var blocked: [(single: Batch, error: any Error)] = []
        for event in batch.singles.sorted() {
            var single = Batch(.single, configuration, areMarkersNeeded: markers.areNeeded)
            defer { inFlight.end(single.lane) }
            do {
                report.add(try await commit(&single, single: event))
            } catch  where mayBeOfEvent(error) {
                guard error.isBlocked || error.isTimeout else {
                    report.add(try await recordFailure(of: event, error, in: single))
                    continue
                }
                single.events = [event]
                blocked.append((single, error))
                guard blocked.count < Self.maximumBlocked else {
                    lost(batch.events, batchOf: batch.events.count, error)
                    throw error
                }
            } catch {
                lost([event], batchOf: batch.events.count, error)
                throw error
            }
            guard ContinuousClock.now < end else {
                losses.withLock { $0.lost(batchOf: batch.events.count) }
                break
            }
        }
        for (single, error) in blocked { report.add(try await recordFailure(of: single.events[0], error, in: single)) }
        return report
    }

    /// Records that an event failed by itself, in a transaction of its own, and isolates it. Does nothing when another transaction holds it.
    func recordFailure(of event: Int64, _ error: any Error, in batch: Batch) async throws -> BatchReport {
        do {
            return try await record(event, in: batch) { plan(of: $0, after: error, in: batch) }
        } catch let refusal as PostgresError where mayBeOfEvent(refusal) {
            // Not even its failure can be recorded: the outcome waits for a repair.
            logger.error("outcome could not be recorded", metadata: ["event.id": "\(event)", "error": "\(refusal)"])
            return try await record(event, in: batch) { failed in
                var plan = SettlementPlan()
                plan.postpone(failed, for: configuration.retry.cap, error: "the outcome could not be recorded: \(refusal)")
                return plan
            }
        }
    }

    private func plan(of failed: ClaimedEvent, after error: any Error, in batch: Batch) -> SettlementPlan {
        var plan = SettlementPlan()
        if error.isBlocked, failed.blockedFor < Self.longestBlockade {
            // The longer an event has been blocked, the longer it waits: another session may hold a lock for any time.
            let longest = min(max(.milliseconds(500), failed.blockedFor / 4), .seconds(30))
            plan.postpone(failed, for: longest * Double.random(in: 0.5...1), error: "\(error)", isBlocked: true)
        } else if error.isTimeout, batch.kind != .isolated {
            // It gets more time when it runs by itself.
            plan.postpone(failed, for: .zero, error: "\(error)")
        } else {
            let failure = Settlement.retry(reason: error.reason, error: "\(error)", labels: batch.labels)
            plan = SettlementPlan([failed], [failure], configuration, isolates: true, isBlocked: error.isBlocked)
        }
        return plan
    }

    /// Records what a plan says of an event whose batch was rolled back, and removes the batch's marker.
    private func record(_ event: Int64, in batch: Batch, _ plan: @Sendable (ClaimedEvent) -> SettlementPlan) async throws -> BatchReport {
        let recorded = try await pool.withTransaction { transaction -> SettlementPlan? in
            let rows = try await transaction.query(QueueStatements.claim(event, lane: batch.lane))
            guard let failed = try QueueStatements.event(rows) else { return nil }
            let plan = plan(failed)
            try transaction.append(toCommit: QueueStatements.record(plan, lane: batch.lane))
            return plan
        }
        return recorded.map { report($0, of: batch) } ?? BatchReport()
    }

    /// Whether an error may be about one event of a batch: not about the connection, a server that shuts down, or a stale plan.
    func mayBeOfEvent(_ error: any Error) -> Bool {
        if error is CancellationError { return false }
        guard let error = error as? PostgresError else { return true }
        // A value that cannot be sent or read is the event's.
        if [.invalidBind, .decoding, .misuse, .rolledBack].contains(error.code) { return true }
        guard error.code == .sql, !error.isConnectionLoss, !error.isStalePlan, let state = error.sqlState else { return false }
        return !["08", "25", "26"].contains(state.conditionClass)
    }
}

extension Error {
    private var state: SQLState? { (self as? PostgresError)?.sqlState }

    /// Whether another session holds what the event needs (locks, conflicts), or the server lacks it (disk, memory, a file, a right, a table of
    /// another schema version): no attempt is counted. Class 55 is about the state of objects, such as a lock that is not available or a
    /// publication that refuses an update: no code of it depends on what an event says.
    fileprivate var isBlocked: Bool {
        state.map { ["40", "42", "53", "55", "58"].contains($0.conditionClass) } ?? false
    }

    /// Whether PostgreSQL, or `appstore.give_way`, ended the transaction because of another one.
    var isConflict: Bool { state == .deadlockDetected || state == .serializationFailure }

    /// Whether a statement took too long.
    fileprivate var isTimeout: Bool { state == .queryCanceled }

    /// The outcome's reason after the last attempt.
    fileprivate var reason: String { isTimeout ? "timed_out" : "merge_failed" }
}
