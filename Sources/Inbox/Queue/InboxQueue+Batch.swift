import Logging
import Postgres

/// One batch in the making.
struct Batch: Sendable {
    /// Whom a batch takes.
    enum Kind: Sendable {
        /// Whatever is due, beside other batches.
        case company
        /// One suspect, with no other batch in this process.
        case alone
    }

    let kind: Kind
    let stay: SoloGate.Stay
    let lane = ClaimedBatch.Lane.random(in: .min ... .max)
    let start = ContinuousClock.now

    /// The events of a batch were let go because it took too long.
    struct GivenUp: Error {
        let events: Int
    }
}

extension InboxQueue {
    /// A batch that waits for its merge. The bodies are gone: they are most of what a worker would have to remember.
    private struct Work: Sendable {
        let events: [ClaimedEvent]
        let prepared: [Prepared]
        let bound: Duration
    }

    /// Takes one batch, in three round trips on its connection and one beside it: claim; marker; merge; outcomes and commit.
    func run(_ batch: Batch) async throws -> BatchReport {
        do {
            let settled = try await pool.withTransaction { transaction in try await work(through: batch, in: transaction) }
            guard let plan = settled else { return BatchReport() }
            metrics.committed(plan, after: .now - batch.start)
            var report = plan.report
            report.isFull = report.events >= configuration.batchEvents
            return report
        } catch let error as Batch.GivenUp {
            metrics.batchLost()
            var report = BatchReport()
            report.givenUp = error.events
            return report
        } catch {
            markers.forget(batch.lane)
            if !(error is CancellationError) { metrics.batchLost() }
            if let error = error as? PostgresError, error.isConnectionLoss { memory.connectionWasLost() }
            throw error
        }
    }

    private func work(through batch: Batch, in transaction: Transaction) async throws -> SettlementPlan? {
        guard let work = try await take(batch, in: transaction) else { return nil }
        let settlements = try await limited(batch, work.events.count, to: work.bound, in: transaction) {
            let isolation = BatchIsolation(merge: merge, transaction: transaction, metrics: metrics, logger: logger)
            return try await isolation.settlements(for: work.prepared[...])
        }
        if batch.kind == .company { memory.took(.now - batch.start, events: work.events.count) }
        let plan = SettlementPlan(events: work.events, settlements: settlements, retry: configuration.retry)
        try transaction.leave(
            with: ClaimedBatch.settle(plan.outcomes) + ClaimedBatch.postpone(plan.retries) + [ClaimedBatch.unmark(batch.lane)]
        )
        return plan
    }

    /// Claims, marks and prepares; nil when nothing is due.
    private func take(_ batch: Batch, in transaction: Transaction) async throws -> Work? {
        let events = try await claim(batch, in: transaction)
        guard !events.isEmpty else { return nil }
        try await markers.mark(
            events,
            lane: batch.lane,
            isAlone: batch.kind == .alone && batch.stay.isUndisturbed,
            isSuspect: batch.kind == .alone
        )
        let bound = batch.kind == .alone ? configuration.suspectPatience : memory.bound(for: events.count)
        let prepared = try await limited(batch, events.count, to: bound, in: transaction) { await prepare(events) }
        return Work(events: events.map(\.withoutBody), prepared: prepared, bound: bound)
    }

    private func claim(_ batch: Batch, in transaction: Transaction) async throws -> [ClaimedEvent] {
        guard batch.kind == .company else {
            return try ClaimedBatch.events(await transaction.query(ClaimedBatch.claimSuspect(lane: batch.lane)))
        }
        let (mark, probe) = memory.nextClaim()
        let claim = ClaimedBatch.claim(
            limit: configuration.batchEvents,
            bytes: configuration.batchBytes,
            from: mark,
            lane: batch.lane
        )
        guard let probe else { return try ClaimedBatch.events(await transaction.query(claim)) }
        let answers = try await transaction.pipeline([claim, ClaimedBatch.probe(from: probe)])
        memory.observe(try ClaimedBatch.probe(answers[1], from: probe))
        return try ClaimedBatch.events(answers[0])
    }

    /// Does something with the events, but gives them up when it takes too long: the connection is closed, whatever goes on, and the marker
    /// says why. A preparation that never ends keeps its loop, whose silence the watchdog notices.
    private func limited<T: Sendable>(
        _ batch: Batch,
        _ events: Int,
        to bound: Duration,
        in transaction: Transaction,
        _ body: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        try await withThrowingTaskGroup(of: T?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: bound)
                return nil
            }
            defer { group.cancelAll() }
            if let value = try await group.next() ?? nil { return value }
            group.cancelAll()
            logger.warning("batch is given up, it took too long", metadata: ["batch.events": "\(events)", "batch.bound": "\(bound)"])
            memory.gaveUp(after: bound, events: events)
            await batch.stay.giveUp {
                transaction.abandon()
                await markers.giveUp(batch.lane, isAlone: batch.kind == .alone, reason: "timed_out", configuration.lossRules)
            }
            throw Batch.GivenUp(events: events)
        }
    }
}
