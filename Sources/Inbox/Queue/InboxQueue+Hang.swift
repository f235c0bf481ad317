import Logging
import Postgres

/// How long a batch may stay in one stage before it is taken for one that hangs.
extension InboxQueue {
    /// What is asked of the server has its own bound, after which the batch is lost and nobody's fault.
    func expectAnswer(to batch: Batch) {
        expect(batch, within: pool.statementDeadline + configuration.hangPatience * 5)
    }

    /// Waiting for the database ends when it is cancelled, and has its bounds; a merge that goes on without asking it anything computes.
    ///
    /// - Parameter patience: how long an event that runs alone may; others of the process do not wait for it then, but those suspects do that have
    ///   still to run alone.
    func expectSteps(ofMergeOf batch: Batch, patience: Duration, in transaction: Transaction) {
        HangWatch.shared.expectSteps(
            of: batch.lane,
            within: patience + configuration.hangPatience,
            { transaction.exchanges },
            orElse: end(for: batch)
        )
    }

    /// Has the process end as soon as the others have committed what they have in hand.
    func endProcess(for batch: Batch) {
        expect(batch, within: .zero)
    }

    /// Has the process end if the batch is in the same stage after that time: its marker tells the next process.
    func expect(_ batch: Batch, within time: Duration) {
        HangWatch.shared.expect(batch.lane, within: time, orElse: end(for: batch))
    }

    private func end(for batch: Batch) -> @Sendable () -> Void {
        { [gate, logger] in
            // The others are innocent: what they have in hand is committed first. Nobody waits for the one that hangs.
            batch.stay.giveUp()
            gate.closeForGood()
            logger.critical(
                "a batch hangs, the process ends itself to be started again",
                metadata: ["batch.alone": "\(batch.kind == .alone)"]
            )
            ProcessEnd.now()
        }
    }
}
