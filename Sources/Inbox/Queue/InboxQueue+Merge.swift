import Postgres

/// What the tasks say that merge a batch.
private enum Merging: Sendable {
    case done(Merged)
    case solitudeIsOver
    case computes
    case timeIsOver
}

/// What a merge has come to.
struct Merged: Sendable {
    /// One for each event.
    var settlements: [Settlement] = []
    /// Whether too many events waited in vain for each of them to be to blame.
    var hasStalled = false
    /// Whether the transaction has other timeouts than those that it had before the merge of a batch in company.
    var hasOtherTimeouts = false
}

/// How a batch is merged.
struct MergeAttempt: Sendable {
    /// As a whole and without a savepoint; an error ends the transaction.
    var isWhole = false
    /// What the whole batch has failed with in a transaction that was rolled back.
    var failure: MergeFailure?
    /// Whether outcomes are recorded together with the merge, so that an error in recording, too, is only one event's.
    let isCareful: Bool
}

/// Why a whole batch could not be merged.
struct MergeFailure: Error {
    let error: any Error
    /// How long it took to fail.
    let duration: Duration
}

/// How long a merge may take.
private struct MergeBounds: Sendable {
    /// All of it.
    let merge: Duration
    /// What it computes between two exchanges with the database.
    let computing: Duration
    /// Each statement.
    let statement: Duration
    /// Each wait for a lock; nil where it is as the claim has set it.
    var lock: Duration?
}

extension InboxQueue {
    /// Merges what was prepared, in the time that it has.
    ///
    /// - Parameter usual: how long each statement may take in a batch in company.
    func mergeAll(
        _ work: Work,
        of batch: Batch,
        _ attempt: MergeAttempt,
        bound usual: Duration,
        in transaction: Transaction
    ) async throws -> Merged {
        let bounds = mergeBounds(for: work, of: batch, usual: usual)
        if let lock = bounds.lock {
            expectAnswer(to: batch)
            let timeouts = ClaimedBatch.Timeouts(statement: bounds.statement, lock: lock)
            _ = try await transaction.query(ClaimedBatch.set(timeouts))
        }
        let expectEnd = { @Sendable in expect(batch, within: bounds.merge + configuration.hangPatience * 5) }
        expectEnd()
        // The connection may be lent to another batch after an error.
        defer { expectAnswer(to: batch) }
        return try await withThrowingTaskGroup(of: Merging.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                expectSteps(ofMergeOf: batch, patience: bounds.computing, in: transaction)
                defer { expectEnd() }
                var isolation = BatchIsolation(
                    work.events,
                    in: transaction,
                    of: self,
                    bound: bounds.statement,
                    kind: batch.kind,
                    isCareful: attempt.isCareful
                )
                var merged = Merged(hasOtherTimeouts: bounds.lock != nil)
                if attempt.isWhole {
                    merged.settlements = try await isolation.settlements(forWhole: work.prepared)
                } else {
                    merged.settlements = try await isolation.settlements(for: work.prepared[...], after: attempt.failure)
                    merged.hasStalled = isolation.hasStalled
                    merged.hasOtherTimeouts = merged.hasOtherTimeouts || isolation.isInHaste
                }
                return .done(merged)
            }
            watch(work, of: batch, bounds: bounds, in: &group, transaction: transaction)
            if let merged = try await awaitMerge(of: batch, in: &group) { return merged }
            transaction.abandon()
            expect(batch, within: configuration.hangPatience * 5)
            throw Batch.Overdue(bound: bounds.merge)
        }
    }

    private func mergeBounds(for work: Work, of batch: Batch, usual: Duration) -> MergeBounds {
        let computing = memory.bound(for: batch.limit)
        guard batch.kind == .alone else { return MergeBounds(merge: configuration.mergePatience, computing: computing, statement: usual) }
        let patience = configuration.suspectPatience(afterFailures: work.events[0].attempts)
        // Where every statement takes long, it is not the event's fault.
        let statement = max(usual, patience * 2)
        return MergeBounds(merge: statement * 2, computing: max(computing, patience), statement: statement, lock: patience / 2)
    }

    /// Sees to it that somebody speaks up when time is over.
    private func watch(
        _ work: Work,
        of batch: Batch,
        bounds: MergeBounds,
        in group: inout ThrowingTaskGroup<Merging, any Error>,
        transaction: Transaction
    ) {
        group.addTask {
            try await HangWatch.shared.sleep(for: bounds.merge)
            return .timeIsOver
        }
        if let end = batch.stay.solitudeEnds, !work.events[0].hasToStayAlone {
            group.addTask {
                try await HangWatch.shared.sleep(for: end - .now)
                return .solitudeIsOver
            }
        }
        if batch.kind == .alone {
            group.addTask {
                try await HangWatch.shared.awaitStandstill(of: bounds.computing) { transaction.exchanges }
                return .computes
            }
        }
    }

    /// What the merge has come to; nil when its time is over.
    private func awaitMerge(of batch: Batch, in group: inout ThrowingTaskGroup<Merging, any Error>) async throws -> Merged? {
        while let event = try await group.next() {
            switch event {
            case .done(let merged):
                return merged
            case .solitudeIsOver:
                // It waits for the database, of which no process dies.
                batch.stay.letOthersIn()
                await markers.accuse(batch.lane, false)
            case .computes:
                // Of which a process may die: this one does, by its own decision.
                await markers.accuse(batch.lane, true)
                endProcess(for: batch)
            case .timeIsOver:
                // What goes on after that is computing.
                if batch.kind == .alone { await markers.accuse(batch.lane, true) }
                return nil
            }
        }
        return nil
    }
}
