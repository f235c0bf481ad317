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
    /// The most events that it may take.
    let limit: Int
    let stay: SoloGate.Stay
    let lane = ClaimedBatch.Lane.random(in: .min ... .max)
    /// To be called when it has taken events.
    let whenClaimed: @Sendable (_ isFull: Bool) -> Void

    /// The database took too long.
    struct Overdue: Error, CustomStringConvertible {
        let bound: Duration

        var description: String { "the database has not merged a batch within \(bound)" }
    }
}

extension InboxQueue {
    /// A batch that waits for its merge. The bodies are gone: they are most of what a worker would have to remember.
    struct Work: Sendable {
        /// When its claim began.
        let start: ContinuousClock.Instant
        /// When its events were here.
        let claimedAt = ContinuousClock.now
        /// How many were claimed.
        let claimed: Int
        /// Those that were prepared and are to be merged, in order.
        var events: [ClaimedEvent] = []
        var prepared: [Prepared] = []
        /// Those whose preparation takes too long.
        var overdue: [ClaimedEvent] = []
        /// Those whose time has not come: they are let go again, for so long.
        var putOff: [(event: ClaimedEvent, delay: Duration)] = []
        var unreadable: [Unreadable] = []
    }

    /// What became of a batch.
    private struct Settled: Sendable {
        let work: Work
        let plan: SettlementPlan
        let losses: LossReport
        /// Whether too many of its events waited in vain for each of them to be to blame.
        let hasStalled: Bool
    }

    /// Takes one batch, in three round trips on its connection and one beside it: claim; marker; merge; outcomes and commit. Before there is a
    /// mark a look may come first.
    ///
    /// Returns when all of its preparations have ended. One that never does is ended with the process, soon after the others were committed.
    func run(_ batch: Batch) async throws -> BatchReport {
        var (taken, isRecording) = ([Int64](), false)
        defer { HangWatch.shared.settle(batch.lane) }
        do {
            return try await withThrowingTaskGroup(of: Preparation.self, returning: BatchReport.self) { group in
                defer { inFlight.leave(batch.lane) }
                let settled = try await pool.withTransaction { transaction in
                    let bound = memory.statementBound(for: batch.limit)
                    let start = ContinuousClock.now
                    let isWary = memory.isWary
                    let claimed = try await claim(batch, withBodies: !isWary, bound: bound, in: transaction)
                    guard !claimed.isEmpty else { return nil as Settled? }
                    taken = claimed.map(\.eventID)
                    let (events, unreadable) = isWary ? try await read(claimed, in: transaction) : (claimed, [])
                    var work = Work(start: start, claimed: claimed.count, unreadable: unreadable)
                    try await prepare(events, for: &work, of: batch, in: &group)
                    let settled = try await settle(work, of: batch, bound: bound, in: transaction)
                    isRecording = true
                    return settled
                }
                guard let settled else { return BatchReport() }
                if !settled.work.overdue.isEmpty { giveUp(settled, of: batch) }
                return report(settled, of: batch)
            }
        } catch {
            // What was not claimed has no marker.
            if !taken.isEmpty { markers.forget(batch.lane) }
            if error is CrashMarkers.Unmarked || error is CancellationError { throw error }
            metrics.batchLost()
            let postgresError = error as? PostgresError
            if postgresError?.isConnectionLoss == true { memory.connectionWasLost() }
            if taken.isEmpty, postgresError?.mayBeOfBody == true { memory.claimFailed() }
            if postgresError?.isAboutData == true {
                if isRecording { memory.recordingFailed() }
            } else {
                memory.lost(taken, inCompany: batch.kind == .company)
            }
            throw error
        }
    }

    private func report(_ settled: Settled, of batch: Batch) -> BatchReport {
        let now = ContinuousClock.now
        metrics.committed(settled.plan, after: now - settled.work.start, sinceClaim: now - settled.work.claimedAt)
        var report = settled.plan.report
        report.givenUp = settled.work.overdue.count
        report.isFull = settled.work.claimed >= batch.limit
        memory.settled(settled.work.events.map(\.eventID), putOff: settled.work.putOff.map(\.event.eventID))
        if batch.kind == .company { settled.hasStalled ? memory.stalled(report.events) : memory.committed(settled.work.claimed) }
        return report
    }

    /// It is committed which events take too long. They do so still, and keep their threads: the process has to be ended if they do not end now.
    private func giveUp(_ settled: Settled, of batch: Batch) {
        metrics.found(settled.losses)
        memory.suspectsAreDue = true
        batch.stay.giveUp()
        expect(batch, within: configuration.hangPatience)
    }

    /// Marks what was claimed, and prepares it.
    private func prepare(
        _ events: [ClaimedEvent],
        for work: inout Work,
        of batch: Batch,
        in group: inout ThrowingTaskGroup<Preparation, any Error>
    ) async throws {
        batch.whenClaimed(work.claimed >= batch.limit)
        work.putOff = putOff(among: events)
        let events = work.putOff.isEmpty ? events : events.filter { event in !work.putOff.contains { $0.event.eventID == event.eventID } }
        guard !events.isEmpty else { return }
        try await markers.mark(events, lane: batch.lane, isSuspect: batch.kind == .alone)
        for (event, stage) in zip(events, try await prepareAll(events, of: batch, in: &group)) {
            switch stage {
            case .prepared(let prepared):
                work.events.append(event.withoutBody)
                work.prepared.append(prepared)
            case .begun:
                work.overdue.append(event.withoutBody)
            case .waiting:
                // It is let go with this transaction.
                continue
            }
        }
        letGoOfContested(&work, in: batch)
    }

    /// What another batch of this process is merging is let go with this transaction, too.
    private func letGoOfContested(_ work: inout Work, in batch: Batch) {
        let contested = inFlight.enter(batch.lane, with: zip(work.events, work.prepared).map { ($0.eventID, subjects($1)) })
        guard !contested.isEmpty else { return }
        metrics.letGo(contested.count)
        let kept = work.events.indices.filter { !contested.contains(work.events[$0].eventID) }
        work.events = kept.map { work.events[$0] }
        work.prepared = kept.map { work.prepared[$0] }
    }

    private func putOff(among events: [ClaimedEvent]) -> [(event: ClaimedEvent, delay: Duration)] {
        let delays = memory.delays(of: events.map(\.eventID))
        guard !delays.isEmpty else { return [] }
        return events.compactMap { event in
            guard let delay = delays[event.eventID] else { return nil }
            logger.warning(
                "an event is put off: each time that it ran by itself its batch was lost",
                metadata: ["event.id": "\(event.eventID)", "event.delay": "\(delay)"]
            )
            return (event.withoutBody, delay)
        }
    }

    /// - Parameter bound: how long each later statement may take, where others run beside the batch.
    private func claim(
        _ batch: Batch,
        withBodies: Bool,
        bound: Duration,
        in transaction: Transaction
    ) async throws -> [ClaimedEvent] {
        guard batch.kind == .company else {
            return try ClaimedBatch.suspects(await transaction.query(ClaimedBatch.claimSuspect(lane: batch.lane, withBody: withBodies)))
        }
        var start = memory.nextClaim()
        if let look = start.look, start.position == .start {
            let begun = ContinuousClock.now
            memory.observe(try ClaimedBatch.probe(await transaction.query(ClaimedBatch.probe(look)), look), after: .now - begun)
            start = memory.claimAfterLook()
        }
        let events = try await claim(batch, from: start, withBodies: withBodies, bound: bound, in: transaction)
        guard events.isEmpty, start.isContinuation else { return events }
        let mark = QueueMemory.ClaimStart(position: memory.mark)
        return try await claim(batch, from: mark, withBodies: withBodies, bound: bound, in: transaction)
    }

    private func claim(
        _ batch: Batch,
        from start: QueueMemory.ClaimStart,
        withBodies: Bool,
        bound: Duration,
        in transaction: Transaction
    ) async throws -> [ClaimedEvent] {
        let claim = ClaimedBatch.claim(
            limit: batch.limit,
            bytes: configuration.batchBytes,
            from: start.position,
            lane: batch.lane,
            bound: bound,
            withBodies: withBodies
        )
        let rows: Rows
        if let look = start.look {
            let begun = ContinuousClock.now
            // Before the claim, which bounds all statements that come after it.
            let answers = try await transaction.pipeline([ClaimedBatch.probe(look), claim])
            memory.observe(try ClaimedBatch.probe(answers[0], look), after: .now - begun)
            rows = answers[1]
        } else {
            rows = try await transaction.query(claim)
        }
        memory.claimed(rows.count, upTo: rows.count < batch.limit ? nil : try ClaimedBatch.end(rows))
        return try ClaimedBatch.events(rows)
    }

    /// Merges what was prepared and has the outcomes travel with the commit. If the database takes too long, nobody is to blame: the batch is
    /// forgotten, and its events are taken again.
    private func settle(_ work: Work, of batch: Batch, bound: Duration, in transaction: Transaction) async throws -> Settled {
        let isCareful = memory.isCareful
        var merged = Merged()
        if !work.events.isEmpty { merged = try await mergeAll(work, of: batch, bound: bound, isCareful: isCareful, in: transaction) }
        var plan = SettlementPlan(events: work.events, settlements: merged.settlements, retry: configuration.retry)
        for (event, delay) in work.putOff { plan.putOff(event, for: delay) }
        for (event, error) in work.unreadable { plan.postpone(event, for: configuration.retry.maximumDelay, error: error) }
        // COMMIT, and what travels with it, has the role's own times.
        var statements: [Statement] = ["SET LOCAL statement_timeout TO DEFAULT", "SET LOCAL lock_timeout TO DEFAULT"]
        if !isCareful { statements += ClaimedBatch.settle(plan.outcomes) }
        statements += ClaimedBatch.postpone(plan.retries) + [ClaimedBatch.unmark(batch.lane)]
        var losses = LossReport(suspectsAreDue: false)
        if !work.overdue.isEmpty {
            var consequences = LostBatches.Consequences(rules: configuration.lossRules, events: work.overdue)
            let ids = work.overdue.map(\.eventID)
            consequences.add(batch.kind == .alone ? .death(ids[0], reason: "timed_out") : .suspects(ids), of: batch.lane)
            losses.add(consequences)
            statements += consequences.statements
        }
        try transaction.leave(with: statements)
        expectAnswer(to: batch)
        return Settled(work: work, plan: plan, losses: losses, hasStalled: merged.hasStalled)
    }
}

extension PostgresError {
    /// Whether the server refused what it was given, and would do so again.
    fileprivate var isAboutData: Bool {
        code == .sql && !endsBatch && !isSerializationConflict && !isOfServer && sqlState != .queryCanceled
    }
}
