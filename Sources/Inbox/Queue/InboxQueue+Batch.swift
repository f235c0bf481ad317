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
    struct Settled: Sendable {
        let work: Work
        let plan: SettlementPlan
        let losses: LossReport
        /// Whether too many of its events waited in vain for each of them to be to blame.
        let hasStalled: Bool
    }

    /// How far a batch has come, which tells what an error is about.
    struct Course: Sendable {
        enum Stage: Sendable {
            case claim
            case bodies
            case merge
            /// Its outcomes travel with the commit.
            case record
        }

        var stage = Stage.claim
        /// The events that it has claimed.
        var taken: [Int64] = []
        /// How long a statement of its merge may take.
        let bound: Duration
    }

    /// Takes one batch, in four round trips: claim; bodies, and beside that the marker; merge; outcomes and commit. Before there is a mark a
    /// look may come first.
    ///
    /// Returns when all of its preparations have ended. One that never does is ended with the process, soon after the others were committed.
    func run(_ batch: Batch) async throws -> BatchReport {
        var course = Course(bound: memory.statementBound(for: batch.limit))
        defer { HangWatch.shared.settle(batch.lane) }
        do {
            return try await withThrowingTaskGroup(of: Preparation.self, returning: BatchReport.self) { group in
                defer { inFlight.leave(batch.lane) }
                guard let settled = try await settled(batch, &course, in: &group) else { return BatchReport() }
                if !settled.work.overdue.isEmpty { giveUp(settled, of: batch) }
                return report(settled, of: batch)
            }
        } catch {
            learn(from: error, of: batch, course)
            throw error
        }
    }

    /// Has a batch settled by the transaction that claims it, or, when its merge fails, by another one that claims the same events again.
    private func settled(
        _ batch: Batch,
        _ course: inout Course,
        in group: inout ThrowingTaskGroup<Preparation, any Error>
    ) async throws -> Settled? {
        do {
            return try await pool.withTransaction { transaction in
                let start = ContinuousClock.now
                let claimed = try await claim(batch, in: transaction)
                guard !claimed.isEmpty else { return nil }
                course.taken = claimed.map(\.eventID)
                var work = Work(start: start, claimed: claimed.count)
                batch.whenClaimed(work.claimed >= batch.limit)
                work.putOff = putOff(among: claimed)
                let putOff = Set(work.putOff.map(\.event.eventID))
                let keys = putOff.isEmpty ? claimed : claimed.filter { !putOff.contains($0.eventID) }
                course.stage = .bodies
                let events = try await markAndRead(keys, for: &work, of: batch, bound: course.bound, in: transaction)
                course.stage = .merge
                try await prepare(events, for: &work, of: batch, in: &group)
                return try await settle(work, of: batch, &course, in: transaction)
            }
        } catch let failure as FailedMerge {
            return try await pool.withTransaction { try await settleAgain(failure, of: batch, &course, in: $0) }
        }
    }

    /// What the batches after a lost one are to know of it.
    private func learn(from error: any Error, of batch: Batch, _ course: Course) {
        // What was not claimed has no marker.
        if !course.taken.isEmpty { markers.forget(batch.lane) }
        if error is CrashMarkers.Unmarked || error is CancellationError { return }
        metrics.batchLost()
        let postgresError = error as? PostgresError
        if postgresError?.isConnectionLoss == true { memory.connectionWasLost() }
        let isAboutData = postgresError?.isAboutData == true
        switch course.stage {
        case .claim:
            break
        case .bodies:
            if postgresError?.mayBeOfBody == true { memory.claimFailed() }
        case .merge:
            if !isAboutData { memory.lost(course.taken, inCompany: batch.kind == .company) }
        case .record where isAboutData:
            memory.recordingFailed()
        case .record:
            if batch.kind == .company, postgresError?.sqlState == .queryCanceled { memory.mergeExceeded(course.bound) }
            memory.lost(course.taken, inCompany: batch.kind == .company)
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

    /// Prepares what was claimed.
    private func prepare(
        _ events: [ClaimedEvent],
        for work: inout Work,
        of batch: Batch,
        in group: inout ThrowingTaskGroup<Preparation, any Error>
    ) async throws {
        guard !events.isEmpty else { return }
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
}

extension PostgresError {
    /// Whether the server refused what it was given, and would do so again.
    fileprivate var isAboutData: Bool {
        code == .sql && !endsBatch && !isSerializationConflict && !isOfServer && sqlState != .queryCanceled
    }
}
