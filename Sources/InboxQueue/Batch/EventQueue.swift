import Foundation
package import Logging
package import Postgres
package import ServiceSupport
import Synchronization

/// Takes events off the inbox in batches. A batch is one transaction: claim, prepare, merge, settle, commit. A crash before the commit leaves
/// every event in the queue.
///
/// A batch that fails because of an event is run again at once, event by event, each in a transaction of its own; one that conflicts with another
/// transaction is repeated as a batch before. An event that fails by itself is isolated: it runs by itself from then on, and no batch fails
/// because of it again.
package final class EventQueue<Prepared: Sendable>: Sendable {
    /// Work on a claimed event that touches nothing but a core; the events of a batch are prepared on all of them. What is wrong with an event is
    /// part of its value.
    package typealias Prepare = @Sendable (ClaimedEvent) async -> Prepared
    /// Writes prepared events into the ledger, inside the batch's transaction; one settlement for each, in order.
    package typealias Merge = @Sendable ([Prepared], Transaction) async throws -> [Settlement]
    /// The names of what a prepared event is about, such as a contract: merges of two events about the same wait for each other.
    package typealias Subjects = @Sendable (Prepared) -> [String]
    /// What a prepared event says of itself, for the outcome of an event whose merge fails.
    package typealias Labels = @Sendable (Prepared) -> OutcomeLabels
    package typealias Configuration = QueueConfiguration

    private let pool: ConnectionPool
    private let configuration: QueueConfiguration
    private let metrics: QueueMetrics
    private let prepare: Prepare
    private let subjects: Subjects
    private let labels: Labels
    private let merge: Merge
    let logger: Logger
    let markers: CrashMarkers
    let cursor = ClaimCursor()
    let losses: Mutex<BatchLosses>
    let inFlight = InFlightBatches()
    let rejections: OccurrenceSummary

    /// - Parameter pool: lends a connection to each batch in flight. One more to the same database, for crash markers, is the queue's own.
    package init(
        pool: ConnectionPool,
        configuration: Configuration,
        logger: Logger,
        metrics: QueueMetrics = QueueMetrics(),
        prepare: @escaping Prepare,
        subjects: @escaping Subjects = { _ in [] },
        labels: @escaping Labels = { _ in OutcomeLabels() },
        merge: @escaping Merge
    ) {
        self.pool = pool
        self.configuration = configuration
        self.metrics = metrics
        self.prepare = prepare
        self.subjects = subjects
        self.labels = labels
        self.merge = merge
        self.logger = logger
        markers = CrashMarkers(side: pool.side(timeout: .seconds(1)), configuration, logger: logger)
        losses = Mutex(BatchLosses(maximum: configuration.batchEvents))
        rejections = OccurrenceSummary("events are rejected", logger: logger)
    }

    /// The connection for crash markers, which is beside the pool. To be run as a service, before the one that takes batches.
    package var side: ConnectionPool { markers.side }

    /// Takes one batch and reports how it went; the report is empty when nothing was due.
    ///
    /// - Parameter whenClaimed: called as soon as there are events, long before they are settled; with whether there may be more.
    /// - Throws: ``PostgresError`` when the database could not be asked or did not commit; the events then stay in the queue.
    package func takeBatch(whenClaimed: @escaping @Sendable (_ isFull: Bool) -> Void = { _ in }) async throws -> BatchReport {
        var batch = Batch(.batch, configuration, areMarkersNeeded: markers.areNeeded)
        var report = BatchReport()
        defer { inFlight.end(batch.lane) }
        do {
            report = try await commitRepeating(&batch, whenClaimed)
        } catch  where mayBeOfEvent(error) && batch.events.count == 1 {
            return try await recordFailure(of: batch.events[0], error, in: batch)
        } catch  where mayBeOfEvent(error) && !batch.events.isEmpty {
            batch.singles = Set(batch.events)
            metrics.split()
            logger.warning(
                "batch failed, its events run one by one",
                metadata: ["batch.events": "\(batch.events.count)", "error": "\(error)"]
            )
        } catch {
            lost(batch.events, batchOf: batch.events.count, error)
            throw error
        }
        if !batch.singles.isEmpty { report.add(try await commitSingly(of: batch)) }
        return report
    }

    /// Runs one isolated event that is due and reports how it went; nil when none is due. To be called by one task of a process at a time: where a
    /// process dies, only the isolated event in flight is counted a death.
    ///
    /// - Throws: as ``takeBatch(whenClaimed:)``.
    package func takeIsolated() async throws -> BatchReport? {
        var batch = Batch(.isolated, configuration, areMarkersNeeded: markers.areNeeded)
        // Also where the answer about its marker is lost. Settling removes it; where it did not, no event is the cause.
        defer {
            markers.forget(batch.lane)
            inFlight.end(batch.lane)
        }
        let rows = try await pool.query(QueueStatements.reserveIsolated(lane: batch.lane))
        guard let event = try rows.first?.decode("event_id", as: Int64.self) else { return nil }
        do {
            return try await commit(&batch, single: event)
        } catch  where mayBeOfEvent(error) {
            return try await recordFailure(of: event, error, in: batch)
        } catch {
            lost([event], batchOf: 0, error)
            throw error
        }
    }

    /// Whether an event is due that has not been claimed, as far as can be seen without locking anything: one statement without a transaction,
    /// for a worker that waits. ``takeBatch(whenClaimed:)`` may find that other workers hold what is due.
    ///
    /// - Throws: ``PostgresError`` when the database could not be asked.
    package func hasDueEvents() async throws -> Bool {
        let look = cursor.nextLook()
        let begun = ContinuousClock.now
        do {
            let rows = try await pool.query(QueueStatements.probe(look))
            let probe = try QueueStatements.probe(rows, look)
            cursor.observe(probe, after: .now - begun)
            return probe.isDue
        } catch {
            if error.isDatabaseOutage { cursor.connectionWasLost() }
            throw error
        }
    }

    /// Looks for batches whose worker died, and isolates their events. To be called when a process starts and about once a second.
    ///
    /// - Parameter isFirst: whether this process has not looked yet. It takes no event before it knows which killed the process before it, and
    ///   does not wait for other workers to report that they live.
    package func recoverLostBatches(isFirst: Bool = false) async throws -> RecoveryReport {
        let report = try await markers.recover(on: pool, grace: isFirst ? .zero : configuration.grace)
        metrics.recovered(report)
        if report.lost > 0 {
            logger.warning(
                "batches were lost, their events run by themselves",
                metadata: [
                    "queue.lost": "\(report.lost)", "queue.isolated": "\(report.isolated)", "queue.deaths": "\(report.deaths)",
                ]
            )
        }
        for event in report.failed {
            logger.error(
                "event failed for the last time and is given up",
                metadata: ["event.id": "\(event)", "event.type": "unknown", "event.reason": "killed_worker"]
            )
        }
        return report
    }

    /// Records events that were not committed for a reason that is no event's.
    ///
    /// - Parameter size: of their batch; 0 for an isolated event, which says nothing about batches.
    private func lost(_ events: [Int64], batchOf size: Int, _ error: any Error) {
        if error is CancellationError { return }
        metrics.batchLost()
        if error.isDatabaseOutage { cursor.connectionWasLost() }
        let isAlone = events.count == 1 && error.isDatabaseOutage && !error.isDatabaseUnreachable
        losses.withLock { losses in
            losses.lost(batchOf: size)
            if isAlone { losses.lost(alone: events[0]) }
        }
        guard isAlone else { return }
        logger.warning("the connection ended while an event ran by itself", metadata: ["event.id": "\(events[0])", "error": "\(error)"])
    }
}

/// How much one batch may take, how long, and how failures are retried.
package struct QueueConfiguration: Sendable {
    /// Events in a batch, at least 1.
    package var batchEvents = 200
    /// Bytes of bodies in a batch.
    package var batchBytes = 8 << 20
    /// How often an event is tried in one run, at least 1. With ``retry`` the default takes seven to fourteen hours.
    package var maximumAttempts = 20
    /// The delays between attempts.
    package var retry = Backoff(base: .seconds(1), cap: .seconds(7200), jitter: 0.5)

    /// How long each statement of a batch's merge may take.
    package var batchTimeout: Duration = .seconds(5)
    /// The same for an event of a failed batch that runs by itself. One that takes longer is isolated, and no attempt is counted.
    package var singleTimeout: Duration = .milliseconds(500)
    /// The same for an isolated event, also for what it computes. One that takes longer has failed an attempt, or is counted a death.
    package var isolatedTimeout: Duration = .seconds(2)
    /// How long a preparation or a merge may compute without progress before the process ends itself.
    package var computeTimeout: Duration = .seconds(5)

    /// How long after its start a process marks its batches, see ``CrashMarkers``.
    package var markersAfterStart: Duration = .seconds(600)
    /// How long a process that lost a batch has to report that it lives: the time of a reconnect.
    package var grace: Duration = .seconds(2)
    /// The same where an isolated event would be counted a death.
    package var isolatedGrace: Duration = .seconds(10)

    package init() {}
}

/// A transaction's events, from the claim to the commit.
private struct Batch: Sendable {
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
    private func commitRepeating(_ batch: inout Batch, _ whenClaimed: @Sendable (_ isFull: Bool) -> Void) async throws -> BatchReport {
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
    private func commit(_ batch: inout Batch, single event: Int64) async throws -> BatchReport {
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

    private func report(_ plan: SettlementPlan, of batch: Batch) -> BatchReport {
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

extension EventQueue {
    /// Takes due events that no other transaction holds, beginning where the cursor says.
    private func claim(_ limit: Int, lane: QueueStatements.Lane, in transaction: Transaction) async throws -> [ClaimedEvent] {
        var start = cursor.next()
        if let look = start.look, start.position == .start {
            _ = try await run([QueueStatements.probe(look)], look, in: transaction)
            start = cursor.afterLook()
        }
        let events = try await claim(limit, from: start, lane: lane, in: transaction)
        guard events.isEmpty, start.isContinuation else { return events }
        return try await claim(limit, from: cursor.mark, lane: lane, in: transaction)
    }

    private func claim(
        _ limit: Int,
        from start: ClaimCursor.Start,
        lane: QueueStatements.Lane,
        in transaction: Transaction
    ) async throws -> [ClaimedEvent] {
        let claim = QueueStatements.claim(limit: limit, bytes: configuration.batchBytes, from: start.position, lane: lane)
        // The probe needs the older snapshot of the two.
        let statements = start.look.map { [QueueStatements.probe($0), claim] } ?? [claim]
        guard let rows = try await run(statements, start.look, in: transaction).last else { return [] }
        cursor.claimed(rows.count, upTo: rows.count < limit ? nil : try QueueStatements.end(rows))
        return try QueueStatements.events(rows)
    }

    /// Runs statements of which the first is a probe, if there is a look.
    private func run(_ statements: [Statement], _ look: LowWaterMark.Look?, in transaction: Transaction) async throws -> [Rows] {
        let begun = ContinuousClock.now
        let answers = try await transaction.pipeline(statements)
        if let look { cursor.observe(try QueueStatements.probe(answers[0], look), after: .now - begun) }
        return answers
    }
}

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
    private func commitSingly(of batch: Batch) async throws -> BatchReport {
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
    private func recordFailure(of event: Int64, _ error: any Error, in batch: Batch) async throws -> BatchReport {
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
    private func mayBeOfEvent(_ error: any Error) -> Bool {
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
    fileprivate var isConflict: Bool { state == .deadlockDetected || state == .serializationFailure }

    /// Whether a statement took too long.
    fileprivate var isTimeout: Bool { state == .queryCanceled }

    /// The outcome's reason after the last attempt.
    fileprivate var reason: String { isTimeout ? "timed_out" : "merge_failed" }
}
