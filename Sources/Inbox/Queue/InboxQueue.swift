package import Logging
package import Postgres

/// Takes events off the inbox in batches. A batch is one transaction: claim, prepare, merge, settle, commit; a crash anywhere before the
/// commit leaves every event where it was.
package struct InboxQueue<Prepared: Sendable>: Sendable {
    /// How much one batch may take and how failures are retried.
    package struct Configuration: Sendable {
        /// Events in a batch, at least 1.
        package var batchEvents = 100
        /// Bytes of bodies in a batch.
        package var batchBytes = 8 << 20
        package var retry = RetryPolicy()

        package init() {}
    }

    /// Work on claimed events that touches nothing: one value for each event, in order. What is wrong with an event is part of its value.
    package typealias Prepare = @Sendable ([ClaimedEvent]) async -> [Prepared]
    /// Writes prepared events into the books, inside the batch's transaction; one settlement for each, in order. It may be called again
    /// with fewer of them after an error, whose writes have been rolled back by then.
    package typealias Merge = @Sendable ([Prepared], Transaction) async throws -> [Settlement]

    private let pool: ConnectionPool
    private let configuration: Configuration
    private let prepare: Prepare
    private let merge: Merge
    private let logger: Logger

    package init(
        pool: ConnectionPool,
        configuration: Configuration,
        logger: Logger,
        prepare: @escaping Prepare,
        merge: @escaping Merge
    ) {
        self.pool = pool
        self.configuration = configuration
        self.logger = logger
        self.prepare = prepare
        self.merge = merge
    }

    /// Takes one batch and says how it went; it is empty when nothing was due. Throws ``PostgresError`` when the database could
    /// not be asked or did not commit; the events then stay in the queue.
    package func takeBatch() async throws -> BatchReport {
        try await pool.withTransaction { transaction in
            let events = try await ClaimedBatch.claim(
                limit: configuration.batchEvents,
                bytes: configuration.batchBytes,
                in: transaction
            )
            guard !events.isEmpty else { return BatchReport() }
            let prepared = await prepare(events)
            let isolation = BatchIsolation(merge: merge, transaction: transaction, logger: logger)
            let settlements = try await isolation.settlements(for: prepared[...])
            let plan = SettlementPlan(events: events, settlements: settlements, retry: configuration.retry)
            _ = try await transaction.pipeline(ClaimedBatch.settle(plan.outcomes) + ClaimedBatch.postpone(plan.retries))
            return plan.report
        }
    }
}
