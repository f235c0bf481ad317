import Logging

import Postgres
import Synchronization

extension GroupCommitter {
    /// A known source: the database refuses an unknown one even without bodies.
    private static let probeSource = "notification_v2"

    /// Stores a batch and completes its submissions.
    func commit(_ batch: GroupCommitState.Batch) async {
        do {
            let ids = try await metrics.measureCommit(events: batch.submissions.count) {
                try await store(batch.submissions.map(\.body), source: batch.source, timeout: configuration.commitTimeout)
            }
            resetProbeDelay()
            confirm(batch, ids)
        } catch {
            refuse(batch, error)
        }
    }

    /// Probes the database with an empty batch.
    ///
    /// Only a commit, which proves that bodies can be stored, resets the delay between probes.
    func probe() async {
        do {
            _ = try await store([], source: Self.probeSource, timeout: configuration.probeTimeout)
            var recovered = false
            update { waiters, now in
                if case .unavailable = waiters.state.phase { recovered = true }
                waiters.state.databaseAnswered(now: now)
                waiters.answerReadiness(.success(()))
            }
            if recovered, hasWarned.exchange(false, ordering: .relaxed) { logger.notice("the database accepts notifications again") }
        } catch {
            let failure = GroupCommitError(.unavailable, cause: error)
            databaseFailed(failure) { waiters, probeAt in
                waiters.answerReadiness(.failure(failure))
                return waiters.state.databaseFailed(probeAt: probeAt)
            }
        }
    }

    private func confirm(_ batch: GroupCommitState.Batch, _ ids: [Int64]) {
        update { waiters, now in
            waiters.state.batchCommitted(batch, now: now)
            for (submission, id) in zip(batch.submissions, ids) { waiters.answer(submission.id, .success(id)) }
        }
    }

    private func refuse(_ batch: GroupCommitState.Batch, _ error: any Error) {
        let failure = GroupCommitError(.notCommitted, cause: error)
        logger.log(
            level: error.isDatabaseUnreachable ? .debug : .warning,
            "batch not committed",
            metadata: ["batch.events": "\(batch.submissions.count)", "error": "\(error)"]
        )
        let answerBatch: (inout GroupCommitWaiters) -> Void = { waiters in
            for submission in batch.submissions { waiters.answer(submission.id, .failure(failure)) }
        }
        if let error = error as? PostgresError, error.isSerializationConflict {
            update { waiters, _ in
                answerBatch(&waiters)
                _ = waiters.state.batchFailed(batch, probeAt: nil)
            }
        } else {
            databaseFailed(failure) { waiters, probeAt in
                answerBatch(&waiters)
                return waiters.state.batchFailed(batch, probeAt: probeAt)
            }
        }
    }

    private func databaseFailed(_ failure: GroupCommitError, _ change: (inout GroupCommitWaiters, ContinuousClock.Instant) -> [UInt64]) {
        let probeAt = nextProbe()
        var wasOpen = false
        update { waiters, _ in
            if case .open = waiters.state.phase { wasOpen = true }
            let unavailable = GroupCommitError(.unavailable, cause: failure.cause)
            for id in change(&waiters, probeAt) { waiters.answer(id, .failure(unavailable)) }
        }
        guard wasOpen else { return }
        let isReported = failure.cause?.isDatabaseOutage == true
        if !isReported { hasWarned.store(true, ordering: .relaxed) }
        logger.log(level: isReported ? .debug : .warning, "the database accepts no notifications", metadata: ["error": "\(failure)"])
    }

    /// Stores bodies within a time limit.
    ///
    /// - Throws: also when the database did not return one event id for each body: a body is then not stored.
    private func store(_ bodies: [[UInt8]], source: String, timeout: Duration) async throws -> [Int64] {
        let ids = try await withThrowingTaskGroup(of: [Int64].self) { [receive, ticker] group in
            group.addTask { try await receive(bodies, source) }
            group.addTask {
                try await ticker.sleep(for: timeout)
                throw GroupCommitError(.timedOut)
            }
            defer { group.cancelAll() }
            for try await ids in group { return ids }
            throw CancellationError()
        }
        guard ids.count == bodies.count else { throw GroupCommitError(.incomplete) }
        return ids
    }
}
