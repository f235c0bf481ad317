import Foundation
import Logging
import Postgres
import Synchronization

/// A transaction's events, from the claim to the commit.
struct Batch: Sendable {
    enum Kind { case batch, single, isolated }

    let kind: Kind
    let lane = QueueStatements.Lane.random(in: .min ... .max)
    /// How long each statement of the merge may take.
    let timeout: Duration
    /// How long its preparation or merge may compute without progress.
    let computeTimeout: Duration
    /// Whether it gets a crash marker. An isolated event has one already.
    let isMarked: Bool
    /// Whether it runs in place of a batch that conflicted with another transaction.
    let isRepeated: Bool
    let start = ContinuousClock.now
    var claimedAt = ContinuousClock.now
    /// The claimed events, also when the batch failed.
    var events: [Int64] = []
    /// Those that another loop is running one by one, and released in between: they are left out.
    var singles: Set<Int64> = []
    /// What the first event says of itself, as soon as it is prepared.
    var labels = OutcomeLabels()

    init(_ kind: Kind, _ configuration: QueueConfiguration, areMarkersNeeded: Bool, isRepeated: Bool = false) {
        self.kind = kind
        self.isRepeated = isRepeated
        isMarked = areMarkersNeeded && kind != .isolated
        computeTimeout = kind == .isolated ? configuration.isolatedTimeout : configuration.computeTimeout
        timeout =
            switch kind {
            case .batch: configuration.batchTimeout
            case .single: configuration.singleTimeout
            case .isolated: configuration.isolatedTimeout
            }
    }

    /// Whether another batch takes its place after this error.
    func isToBeRepeated(after error: any Error) -> Bool { kind == .batch && !isRepeated && error.isConflict }
}

extension EventQueue {
    /// Commits a batch. One that conflicts with another transaction is repeated once, with what is due then: no event is the cause, and one by
    /// one they would take as many transactions.
    func commitRepeating(_ batch: inout Batch, _ whenClaimed: @Sendable (_ isFull: Bool) -> Void) async throws -> BatchReport {
        do {
            return try await commit(&batch, whenClaimed)
        } catch  where batch.isToBeRepeated(after: error) {
            logger.info(
                "batch conflicted with another transaction and is repeated",
                metadata: ["batch.events": "\(batch.events.count)", "error": "\(error)"]
            )
            batch = Batch(.batch, configuration, areMarkersNeeded: markers.areNeeded, isRepeated: true)
            return try await commit(&batch, whenClaimed)
        }
    }

    /// Claims due events and commits what becomes of them, in four round trips: claim, bodies, merge, outcomes with the commit.
    private func commit(_ batch: inout Batch, _ whenClaimed: @Sendable (_ isFull: Bool) -> Void) async throws -> BatchReport {
        let limit = losses.withLock(\.limit)
        let lane = batch.lane
        var report = try await commit(&batch) { transaction in
            let events = try await claim(limit, lane: lane, in: transaction)
            if !events.isEmpty { whenClaimed(events.count >= limit) }
            return events
        }
        report.isFull = batch.events.count >= limit
        return report
    }

    /// Commits what becomes of one event; the report is empty when another transaction holds it or it is no longer due.
    func commit(_ batch: inout Batch, single event: Int64) async throws -> BatchReport {
        let lane = batch.lane
        return try await commit(&batch) { transaction in
            try QueueStatements.events(await transaction.query(QueueStatements.claim(event, lane: lane)))
        }
    }

    private func commit(_ batch: inout Batch, _ claim: (Transaction) async throws -> [ClaimedEvent]) async throws -> BatchReport {
        defer { inFlight.leave(batch.lane) }
        do {
            let plan = try await pool.withTransaction { transaction -> SettlementPlan? in
                let events = try await claim(transaction)
                batch.claimedAt = .now
                batch.events = events.map(\.eventID)
                guard !events.isEmpty else { return nil }
                if batch.kind == .batch { batch.singles = inFlight.failed(among: batch.events) }
                let claimed = batch
                do {
                    return try await settle(
                        events.filter { !claimed.singles.contains($0.eventID) },
                        of: claimed,
                        knowing: &batch.labels,
                        in: transaction
                    )
                } catch  where mayBeOfEvent(error) && !batch.isToBeRepeated(after: error) {
                    // Before the rollback releases them.
                    inFlight.failed(batch.events, in: batch.lane)
                    throw error
                }
            }
            guard let plan else { return BatchReport() }
            losses.withLock { $0.committed(batchOf: batch.kind == .isolated ? 0 : batch.events.count, plan.attempted) }
            return report(plan, of: batch)
        } catch {
            if batch.isMarked { markers.forget(batch.lane) }
            throw error
        }
    }

    /// Reads, prepares and merges events that the transaction holds, and has their outcomes travel with the commit.
    private func settle(
        _ keys: [ClaimedEvent],
        of batch: Batch,
        knowing known: inout OutcomeLabels,
        in transaction: Transaction
    ) async throws -> SettlementPlan {
        let (givenUp, delays) = losses.withLock { ($0.lastLosses(among: keys.map(\.eventID)), $0.delays(of: keys.map(\.eventID))) }
        async let marked: Void = mark(keys, of: batch)
        let due = keys.filter { delays[$0.eventID] == nil && !givenUp.contains($0.eventID) }
        var events = try await read(due, of: batch, in: transaction)
        await marked
        var prepared = await prepareAll(events, of: batch)
        if let first = prepared.first { known = labels(first) }
        for index in events.indices { events[index].body = [] }
        release(contestedOf: &events, &prepared, lane: batch.lane)
        var plan = SettlementPlan(events, try await mergeAll(prepared, of: batch, in: transaction), configuration)
        let error = "its connection ended each time that the event ran by itself"
        for key in keys {
            if givenUp.contains(key.eventID) {
                let rows = try await transaction.query(QueueStatements.claim(key.eventID, lane: batch.lane))
                if let event = try QueueStatements.event(rows) { plan.giveUp(event, reason: "lost_connection", error: error) }
            } else if let delay = delays[key.eventID] {
                plan.postpone(key, for: delay, error: error)
            }
        }
        try transaction.append(toCommit: QueueStatements.record(plan, lane: batch.lane))
        return plan
    }

    func report(_ plan: SettlementPlan, of batch: Batch) -> BatchReport {
        let now = ContinuousClock.now
        metrics.committed(plan, after: now - batch.start, sinceClaim: now - batch.claimedAt)
        log(plan, sinceClaim: now - batch.claimedAt)
        return plan.report
    }

    private func mark(_ events: [ClaimedEvent], of batch: Batch) async {
        if batch.isMarked, !events.isEmpty { await markers.mark(events.map(\.eventID), lane: batch.lane) }
    }

    private func read(_ keys: [ClaimedEvent], of batch: Batch, in transaction: Transaction) async throws -> [ClaimedEvent] {
        guard !keys.isEmpty else { return [] }
        let rows = try await transaction.query(QueueStatements.bodies(of: keys.map(\.eventID), timeout: batch.timeout))
        return try QueueStatements.events(keys, with: rows)
    }

    /// Prepares events on all cores; one value for each, in order.
    private func prepareAll(_ events: [ClaimedEvent], of batch: Batch) async -> [Prepared] {
        guard !events.isEmpty else { return [] }
        let (begun, ended) = (Count(), Count())
        return await ComputeWatchdog.watch(for: batch.computeTimeout, logger, progress: { ended.value }) {
            await withTaskGroup(of: [(Int, Prepared)].self) { group in
                for _ in 0..<min(events.count, ProcessInfo.processInfo.activeProcessorCount) {
                    group.addTask { [prepare] in
                        var done: [(Int, Prepared)] = []
                        while true {
                            let index = begun.next()
                            guard index < events.count else { return done }
                            done.append((index, await prepare(events[index])))
                            _ = ended.next()
                        }
                    }
                }
                return await group.reduce(into: []) { $0 += $1 }.sorted { $0.0 < $1.0 }.map(\.1)
            }
        }
    }

    /// Merges prepared events; one settlement for each, in order.
    private func mergeAll(_ prepared: [Prepared], of batch: Batch, in transaction: Transaction) async throws -> [Settlement] {
        guard !prepared.isEmpty else { return [] }
        // While a statement is in flight its timeout counts.
        return try await ComputeWatchdog.watch(for: batch.computeTimeout, logger, progress: { transaction.exchanges }) {
            try await merge(prepared, transaction)
        }
    }

    /// Events whose contract another batch of this process is merging are released with the end of this transaction.
    private func release(contestedOf events: inout [ClaimedEvent], _ prepared: inout [Prepared], lane: QueueStatements.Lane) {
        let contested = inFlight.enter(lane, with: zip(events, prepared).map { ($0.eventID, subjects($1)) })
        guard !contested.isEmpty else { return }
        metrics.released(contested.count)
        let kept = events.indices.filter { !contested.contains(events[$0].eventID) }
        (events, prepared) = (kept.map { events[$0] }, kept.map { prepared[$0] })
    }
}

/// Numbers from 0, each taken once.
private final class Count: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    func next() -> Int { count.add(1, ordering: .relaxed).oldValue }
}
