import Logging
import Postgres

/// How events run by themselves, and what becomes of one that fails.
extension EventQueue {
    /// How many events of a failed batch may be slow, or wait for what the server lacks. With more of them the server is the cause.
    private static var maximumBlocked: Int { 6 }

    /// Commits the events of a failed batch one by one, and isolates those that fail by themselves.
    ///
    /// - Throws: what the server lacks, when it lacks it for many events; no event has lost an attempt for that.
    func commitSingly(_ events: [Int64]) async throws -> BatchReport {
        var report = BatchReport()
        report.isFull = true
        losses.begin(singles: events)
        defer { losses.end(singles: events) }
        var blocked: [(event: Int64, error: any Error)] = []
        for event in events {
            do {
                report.add(try await commitSingle(event, lane: .random(in: .min ... .max), isIsolated: false))
            } catch  where isWorthRunningSingly(error) {
                guard error.isBlocked || error.isTimeout else {
                    report.add(try await recordFailure(of: event, error, isIsolated: false))
                    continue
                }
                blocked.append((event, error))
                guard blocked.count < Self.maximumBlocked else {
                    lost(events, error)
                    throw error
                }
            } catch {
                lost([event], error)
                throw error
            }
        }
        for (event, error) in blocked { report.add(try await recordFailure(of: event, error, isIsolated: false)) }
        return report
    }

    /// Commits what becomes of one event; the report is empty when another transaction holds it or it is no longer due.
    func commitSingle(_ event: Int64, lane: QueueStatements.Lane, isIsolated: Bool) async throws -> BatchReport {
        // An isolated event has its marker already.
        let timeout = isIsolated ? configuration.isolatedTimeout : configuration.singleTimeout
        var batch = Batch(
            lane: lane,
            timeout: timeout,
            computeTimeout: isIsolated ? configuration.isolatedTimeout : configuration.computeTimeout,
            isMarked: !isIsolated && markers.areNeeded
        )
        defer { inFlight.leave(lane) }
        do {
            let plan = try await pool.withTransaction { transaction -> SettlementPlan? in
                let keys = try QueueStatements.events(await transaction.query(QueueStatements.claim(event, lane: lane)))
                batch.claimedAt = .now
                guard !keys.isEmpty else { return nil }
                return try await settle(keys, of: batch, in: transaction)
            }
            guard let plan else { return BatchReport() }
            losses.committed(plan)
            return report(plan, of: batch)
        } catch {
            markers.forget(lane)
            throw error
        }
    }

    /// Records that an event failed by itself, in a transaction of its own, and isolates it. Does nothing when another transaction holds it.
    func recordFailure(of event: Int64, _ error: any Error, isIsolated: Bool) async throws -> BatchReport {
        logger.error("event failed, it runs by itself from now on", metadata: ["event.id": "\(event)", "error": "\(error)"])
        do {
            return try await postpone(event) { plan(of: $0, after: error, isIsolated: isIsolated) }
        } catch let refusal as PostgresError where isWorthRunningSingly(refusal) {
            // Not even its failure can be recorded: the outcome waits for a repair.
            logger.error("outcome could not be recorded", metadata: ["event.id": "\(event)", "error": "\(refusal)"])
            return try await postpone(event) { failed in
                var plan = SettlementPlan(events: [], settlements: [], retry: configuration.retry)
                plan.postpone(failed, for: configuration.retry.maximumDelay, error: "the outcome could not be recorded: \(refusal)")
                return plan
            }
        }
    }

    /// What becomes of an event that failed by itself.
    private func plan(of failed: ClaimedEvent, after error: any Error, isIsolated: Bool) -> SettlementPlan {
        var plan = SettlementPlan(events: [], settlements: [], retry: configuration.retry)
        if error.isBlocked, failed.age < Self.longestBlockade {
            plan.postpone(failed, for: Self.delay(ofBlocked: failed), error: "\(error)")
        } else if error.isTimeout, !isIsolated {
            // It gets more time when it runs by itself.
            plan.postpone(failed, for: .zero, error: "\(error)")
        } else {
            let failure = Settlement.retry(reason: error.reason, error: "\(error)", labels: OutcomeLabels())
            plan = SettlementPlan(events: [failed], settlements: [failure], retry: configuration.retry, isolates: true)
        }
        return plan
    }

    private func postpone(_ event: Int64, _ plan: @Sendable (ClaimedEvent) -> SettlementPlan) async throws -> BatchReport {
        let batch = Batch(lane: .random(in: .min ... .max), timeout: .zero, computeTimeout: .zero, isMarked: false)
        let settled = try await pool.withTransaction { transaction -> SettlementPlan? in
            let rows = try await transaction.query(QueueStatements.claim(event, lane: batch.lane))
            guard let row = rows.first, let key = try QueueStatements.events(rows).first else { return nil }
            let failed = key.with(source: try row.decode("source"), receivedAt: try row.decode("received_at"), body: [])
            let plan = plan(failed)
            try transaction.append(
                toCommit: [QueueStatements.settle(plan.outcomes, lane: batch.lane)] + QueueStatements.postpone(plan.retries)
            )
            return plan
        }
        return settled.map { report($0, of: batch) } ?? BatchReport()
    }

    /// What the server has too little of for a day is what the event asks too much of.
    private static var longestBlockade: Duration { .seconds(86_400) }

    /// The longer an event has waited, the longer it waits for a lock that another session may hold for any time.
    private static func delay(ofBlocked event: ClaimedEvent) -> Duration {
        min(max(.milliseconds(500), event.age / 4), .seconds(30)) * Double.random(in: 0.5...1)
    }

    /// Whether an error may be about one event of a batch: not about the connection, a server that shuts down, or a stale plan.
    func isWorthRunningSingly(_ error: any Error) -> Bool {
        if error is CancellationError { return false }
        guard let error = error as? PostgresError else { return true }
        guard error.code == .sql, !error.isConnectionLoss, !error.isStalePlan, let state = error.sqlState else { return false }
        return !["08", "25", "26"].contains(state.conditionClass)
    }
}

extension Error {
    private var state: SQLState? { (self as? PostgresError)?.sqlState }

    /// Whether another session holds what the event needs (locks, conflicts), or the server lacks it (disk, memory, a file, a right, a table of
    /// another schema version): no attempt is counted.
    fileprivate var isBlocked: Bool {
        state == .lockNotAvailable || state.map { ["40", "42", "53", "58"].contains($0.conditionClass) } ?? false
    }

    /// Whether a statement took too long.
    fileprivate var isTimeout: Bool { state == .queryCanceled }

    /// The outcome's reason after the last attempt.
    fileprivate var reason: String { isTimeout ? "timed_out" : "merge_failed" }
}
