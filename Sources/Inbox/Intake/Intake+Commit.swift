import Logging

import struct Postgres.PostgresError

extension Intake {
    /// A probe names a source that the database knows, or it would be refused.
    private static let probeSource = "notification_v2"

    /// Stores a batch and tells its senders.
    func commit(_ batch: IntakeState.Batch) async {
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

    /// Looks whether the database takes bodies, by handing over none.
    ///
    /// A success does not reset the delay between probes: only a commit proves that bodies can be stored.
    func probe() async {
        do {
            _ = try await store([], source: Self.probeSource, timeout: configuration.probeTimeout)
            var recovered = false
            update { mailbox, now in
                if case .unavailable = mailbox.state.phase { recovered = true }
                mailbox.state.databaseAnswered(now: now)
                mailbox.answerReaders(.success(()))
            }
            if recovered { logger.notice("database takes notifications again") }
        } catch {
            let failure = IntakeError(.unavailable, cause: error)
            databaseFailed(failure) { mailbox, probeAt in
                mailbox.answerReaders(.failure(failure))
                return mailbox.state.databaseFailed(probeAt: probeAt)
            }
        }
    }

    private func confirm(_ batch: IntakeState.Batch, _ ids: [Int64]) {
        update { mailbox, now in
            mailbox.state.batchCommitted(batch, now: now)
            for (submission, id) in zip(batch.submissions, ids) { mailbox.answer(submission.id, .success(id)) }
        }
    }

    private func refuse(_ batch: IntakeState.Batch, _ error: any Error) {
        let failure = IntakeError(.notCommitted, cause: error)
        logger.warning(
            "batch not committed",
            metadata: ["batch.events": "\(batch.submissions.count)", "error": "\(error)"]
        )
        let answerBatch: (inout IntakeMailbox) -> Void = { mailbox in
            for submission in batch.submissions { mailbox.answer(submission.id, .failure(failure)) }
        }
        if let error = error as? PostgresError, error.isSerializationConflict {
            update { mailbox, _ in
                answerBatch(&mailbox)
                _ = mailbox.state.batchFailed(batch, probeAt: nil)
            }
        } else {
            databaseFailed(failure) { mailbox, probeAt in
                answerBatch(&mailbox)
                return mailbox.state.batchFailed(batch, probeAt: probeAt)
            }
        }
    }

    private func databaseFailed(_ failure: IntakeError, _ change: (inout IntakeMailbox, ContinuousClock.Instant) -> [UInt64]) {
        let probeAt = nextProbe()
        var wasOpen = false
        update { mailbox, _ in
            if case .open = mailbox.state.phase { wasOpen = true }
            let unlucky = IntakeError(.unavailable, cause: failure.cause)
            for id in change(&mailbox, probeAt) { mailbox.answer(id, .failure(unlucky)) }
        }
        guard wasOpen else { return }
        logger.warning("database takes no notifications", metadata: ["error": "\(failure)"])
    }

    /// Stores bodies within a time limit.
    ///
    /// - Throws: also when the database did not name one event for each body, since then something is not stored.
    private func store(_ bodies: [[UInt8]], source: String, timeout: Duration) async throws -> [Int64] {
        let ids = try await withThrowingTaskGroup(of: [Int64].self) { [receive] group in
            group.addTask { try await receive(bodies, source) }
            group.addTask {
                try await Task.sleep(for: timeout)
                throw IntakeError(.timedOut)
            }
            defer { group.cancelAll() }
            for try await ids in group { return ids }
            throw CancellationError()
        }
        guard ids.count == bodies.count else { throw IntakeError(.incomplete) }
        return ids
    }
}
