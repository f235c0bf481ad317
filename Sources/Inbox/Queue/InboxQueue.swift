package import Logging
package import Postgres

/// Takes events off the inbox in batches. A batch is one transaction: claim, prepare, merge, settle, commit; a crash anywhere before the
/// commit leaves every event where it was.
package struct InboxQueue<Prepared: Sendable>: Sendable {
    /// Work on a claimed event that touches nothing but a core; the events of a batch are prepared on all of them. What is wrong with an event is
    /// part of its value.
    package typealias Prepare = @Sendable (ClaimedEvent) async -> Prepared
    /// Writes prepared events into the books, inside the batch's transaction; one settlement for each, in order. It may be called again
    /// with fewer of them after an error, whose writes have been rolled back by then.
    package typealias Merge = @Sendable ([Prepared], Transaction) async throws -> [Settlement]
    /// The names of what a prepared event is about, such as a contract: merges of two events about the same wait for each other.
    package typealias Subjects = @Sendable (Prepared) -> [String]

    let pool: ConnectionPool
    let configuration: QueueConfiguration
    let metrics: QueueMetrics
    let prepare: Prepare
    let subjects: Subjects
    let merge: Merge
    let logger: Logger
    let markers: CrashMarkers
    let memory: QueueMemory
    let gate: SoloGate
    let inFlight = SubjectsInFlight()

    package typealias Configuration = QueueConfiguration

    /// - Parameter pool: lends a connection to each batch in flight. One more to the same database, for crash markers, is the queue's own.
    package init(
        pool: ConnectionPool,
        configuration: Configuration,
        logger: Logger,
        metrics: QueueMetrics = QueueMetrics(),
        prepare: @escaping Prepare,
        subjects: @escaping Subjects = { _ in [] },
        merge: @escaping Merge
    ) {
        self.pool = pool
        self.configuration = configuration
        self.metrics = metrics
        self.prepare = prepare
        self.subjects = subjects
        self.merge = merge
        self.logger = logger
        markers = CrashMarkers(side: pool.side(patience: configuration.markerPatience), logger: logger)
        gate = SoloGate(
            patience: configuration.solitudePatience,
            maximumPatience: configuration.maximumSolitudePatience,
            solitude: configuration.solitude
        )
        memory = QueueMemory(
            patience: Patience(minimum: configuration.patience, maximum: configuration.maximumPatience),
            // What a merge takes in all is known, and bounds each of its statements.
            statementPatience: Patience(
                minimum: configuration.statementPatience,
                maximum: configuration.maximumStatementPatience,
                factor: 4
            ),
            limit: BatchLimit(maximum: configuration.batchEvents)
        )
    }

    /// The connection for crash markers, which is beside the pool.
    package var side: ConnectionPool { markers.side }

    /// Takes one batch and says how it went; it is empty when nothing was due. While suspects are due, it takes some of them instead, one by
    /// one and with no other batch of this process in flight.
    ///
    /// - Parameter whenClaimed: called as soon as there are events, long before they are settled; with whether there may be more.
    /// - Throws: ``PostgresError`` when the database could not be asked or did not commit; the events then stay in the queue.
    package func takeBatch(whenClaimed: @escaping @Sendable (_ isFull: Bool) -> Void = { _ in }) async throws -> BatchReport {
        if memory.suspectsAreDue, let report = try await takeSuspects(whenClaimed), report.events > 0 { return report }
        return try await gate.together { stay in
            try await run(Batch(kind: .company, limit: memory.batchLimit, stay: stay, whenClaimed: whenClaimed))
        }
    }

    /// Whether an event is due that has not been claimed, as far as can be seen without locking anything: one statement without a transaction,
    /// for a worker that waits. ``takeBatch(whenClaimed:)`` may find that other workers hold what is due.
    ///
    /// - Throws: ``PostgresError`` when the database could not be asked.
    package func hasDueEvents() async throws -> Bool {
        if memory.suspectsAreDue { return true }
        let look = memory.nextLook()
        let begun = ContinuousClock.now
        do {
            let rows = try await pool.withConnection { try await $0.query(ClaimedBatch.probe(look)) }
            let probe = try ClaimedBatch.probe(rows, look)
            memory.observe(probe, after: .now - begun)
            return probe.isDue
        } catch {
            if (error as? PostgresError)?.isConnectionLoss == true { memory.connectionWasLost() }
            throw error
        }
    }

    /// Looks for lost batches, whose process died by kill, crash or hang or gave them up, and has their events run alone. To be called when a
    /// process starts and about once a second.
    ///
    /// - Parameter isFirst: whether this process has only just started; it takes no event before it knows which killed the one before it, and
    ///   waits for no other worker's sign of life.
    package func lookForLostBatches(isFirst: Bool = false) async throws -> LossReport {
        var rules = configuration.lossRules
        if isFirst { rules.companyGrace = .zero }
        var report = LossReport(suspectsAreDue: false)
        repeat {
            let look = try await markers.lookForLostBatches(rules)
            metrics.found(look)
            report.add(look)
        } while report.hasMore
        memory.suspectsAreDue = report.suspectsAreDue
        if report.lost > 0 {
            logger.warning(
                "batches were lost, their events run alone",
                metadata: [
                    "queue.lost": "\(report.lost)", "queue.suspects": "\(report.suspects)", "queue.deaths": "\(report.deaths)",
                    "queue.failed": "\(report.failed)",
                ]
            )
        }
        return report
    }

    /// As many as fit into a part of a second, so that others are not kept waiting for long; nil when this is not the time.
    private func takeSuspects(_ whenClaimed: @escaping @Sendable (_ isFull: Bool) -> Void) async throws -> BatchReport? {
        try await gate.alone { stay in
            let end = ContinuousClock.now + configuration.solitude / 4
            var total = BatchReport()
            repeat {
                let report = try await takeSuspect(Batch(kind: .alone, limit: 1, stay: stay, whenClaimed: whenClaimed))
                total.add(report)
                if report.events == 0 { memory.suspectsAreDue = false }
                if report.events == 0 || report.givenUp > 0 || !stay.isAlone { break }
            } while ContinuousClock.now < end
            return total
        } whenTooBusy: {
            // The next look has it tried again; until then others go on.
            memory.suspectsAreDue = false
        }
    }

    /// Nothing when it cannot be marked: the others do not wait for that.
    private func takeSuspect(_ batch: Batch) async throws -> BatchReport {
        do {
            return try await run(batch)
        } catch let error as CrashMarkers.Unmarked {
            if let cause = error.cause { logger.warning("suspects wait for a crash marker", metadata: ["error": "\(cause)"]) }
            return BatchReport()
        }
    }
}
