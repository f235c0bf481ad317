package import Logging
package import Postgres
import Reporting
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

    let pool: ConnectionPool
    let configuration: QueueConfiguration
    let metrics: QueueMetrics
    let prepare: Prepare
    let subjects: Subjects
    let labels: Labels
    let merge: Merge
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
    func lost(_ events: [Int64], batchOf size: Int, _ error: any Error) {
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
