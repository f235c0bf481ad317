import Postgres

/// How a batch is merged and settled; and again, when its merge has failed.
extension InboxQueue {
    /// The merge of a whole batch has failed, and with it the transaction.
    struct FailedMerge: Error {
        let work: Work
        let failure: MergeFailure
    }

    /// Merges what was prepared and has the outcomes travel with the commit. If the database takes too long, no event is at fault: the batch is
    /// forgotten, and its events are taken again.
    ///
    /// A batch in company is merged without a savepoint, which costs the server about as much as a small statement does, and is hardly ever
    /// needed.
    ///
    /// - Throws: ``FailedMerge`` for what ``settleAgain(_:of:_:in:)`` can isolate.
    func settle(_ work: Work, of batch: Batch, _ course: inout Course, in transaction: Transaction) async throws -> Settled {
        let isCareful = memory.isCareful
        do {
            let attempt = MergeAttempt(isWhole: batch.kind == .company && !isCareful, isCareful: isCareful)
            return try await settle(work, of: batch, attempt, &course, in: transaction)
        } catch let failure as MergeFailure {
            throw FailedMerge(work: work, failure: failure)
        }
    }

    /// Claims the events of a batch again whose merge has failed, and isolates those that it fails for.
    ///
    /// - Returns: nil when none of them is left: others have them.
    func settleAgain(
        _ failed: FailedMerge,
        of batch: Batch,
        _ course: inout Course,
        in transaction: Transaction
    ) async throws -> Settled? {
        let timeouts = ClaimedBatch.Timeouts(statement: course.bound)
        course.stage = .merge
        let rows = try await transaction.query(ClaimedBatch.claimAgain(failed.work.all, lane: batch.lane, timeouts: timeouts))
        course.taken = try rows.map { try $0.decode("event_id") }
        let work = failed.work.keeping(Set(course.taken))
        guard !course.taken.isEmpty else {
            markers.forget(batch.lane)
            return nil
        }
        // Fewer events may not fail.
        let failure = work.events.count == failed.work.events.count ? failed.failure : nil
        let attempt = MergeAttempt(failure: failure, isCareful: memory.isCareful)
        return try await settle(work, of: batch, attempt, &course, in: transaction)
    }

    private func settle(
        _ work: Work,
        of batch: Batch,
        _ attempt: MergeAttempt,
        _ course: inout Course,
        in transaction: Transaction
    ) async throws -> Settled {
        var merged = Merged()
        if !work.events.isEmpty { merged = try await mergeAll(work, of: batch, attempt, bound: course.bound, in: transaction) }
        var plan = SettlementPlan(events: work.events, settlements: merged.settlements, retry: configuration.retry)
        for (event, delay) in work.putOff { plan.putOff(event, for: delay) }
        for (event, error) in work.unreadable { plan.postpone(event, for: configuration.retry.maximumDelay, error: error) }
        // Timeouts that were tightened for the merge are not for what follows.
        var statements = merged.hasOtherTimeouts ? [ClaimedBatch.set(nil)] : []
        statements += [ClaimedBatch.settle(attempt.isCareful ? [] : plan.outcomes, closing: [batch.lane])]
        statements += ClaimedBatch.postpone(plan.retries)
        var losses = LossReport(suspectsAreDue: false)
        if !work.overdue.isEmpty {
            let consequences = consequences(ofOverdue: work, of: batch)
            losses.add(consequences)
            statements += consequences.statements
        }
        try transaction.leave(with: statements)
        expectAnswer(to: batch)
        course.stage = .record
        return Settled(work: work, plan: plan, losses: losses, hasStalled: merged.hasStalled)
    }

    private func consequences(ofOverdue work: Work, of batch: Batch) -> LostBatches.Consequences {
        var consequences = LostBatches.Consequences(rules: configuration.lossRules, events: work.overdue)
        let ids = work.overdue.map(\.eventID)
        consequences.add(batch.kind == .alone ? .death(ids[0], reason: "timed_out") : .suspects(ids), of: batch.lane)
        return consequences
    }
}

extension InboxQueue.Work {
    /// All events that its transaction is to settle or to let wait.
    fileprivate var all: [Int64] {
        (events + overdue + putOff.map(\.event) + unreadable.map(\.event)).map(\.eventID).sorted()
    }

    /// The same with those events only.
    fileprivate func keeping(_ ids: Set<Int64>) -> Self {
        var work = self
        let kept = events.indices.filter { ids.contains(events[$0].eventID) }
        work.events = kept.map { events[$0] }
        work.prepared = kept.map { prepared[$0] }
        work.overdue.removeAll { !ids.contains($0.eventID) }
        work.putOff.removeAll { !ids.contains($0.event.eventID) }
        work.unreadable.removeAll { !ids.contains($0.event.eventID) }
        return work
    }
}
