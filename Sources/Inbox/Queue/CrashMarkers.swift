import Logging
import Postgres
import Synchronization

/// Says in the database which events each batch has in its hands, so that it is known afterwards if their process dies.
///
/// A marker is committed on a side connection after the claim and before anything is done with the events; the batch's own transaction
/// deletes it. For as long as that transaction is open it holds the advisory lock of its lane, which ends with it and needs no session, so
/// that a pooler in transaction mode changes nothing. A marker whose lane is free belongs to a batch that ended without a commit: its
/// process died, or it lost its connection and lives; then it says so (``forget(_:)``).
///
/// When the side connection cannot be had, because the server takes no more connections or answers too slowly, batches go on without a
/// marker: the queue must not stand still for a danger that is rare, and if the danger is real the next process will have a marker again. Only
/// a suspect never runs without one.
final class CrashMarkers: Sendable {
    private let side: ConnectionPool
    private let logger: Logger
    /// Lanes of batches that were lost while this process lives.
    private let forgotten = Mutex<Set<ClaimedBatch.Lane>>([])
    private let isAway = Atomic(false)

    init(side: ConnectionPool, logger: Logger) {
        self.side = side
        self.logger = logger
    }

    /// Marks the events of a batch.
    ///
    /// - Parameter isAlone: whether a death of the process would be the fault of its only event.
    /// - Throws: ``PostgresError`` when a suspect cannot be marked.
    func mark(_ events: [ClaimedEvent], lane: ClaimedBatch.Lane, isAlone: Bool, isSuspect: Bool) async throws {
        do {
            try await commit([
                """
                INSERT INTO appstore.inbox_in_flight (lane, event_ids, is_alone, marked_at)
                VALUES (\(lane), \(events.map(\.eventID)), \(isAlone), clock_timestamp())
                """
            ])
            if isAway.exchange(false, ordering: .relaxed) { logger.notice("batches are marked again") }
        } catch let error as PostgresError where !isSuspect {
            // Said once, not for each batch.
            let level: Logger.Level = isAway.exchange(true, ordering: .relaxed) ? .debug : .warning
            logger.log(level: level, "batch goes on without a crash marker", metadata: ["error": "\(error)"])
        }
    }

    /// The batch was lost and this process is well: nobody is to blame. The marker goes with the next conversation on the side connection.
    func forget(_ lane: ClaimedBatch.Lane) {
        _ = forgotten.withLock { $0.insert(lane) }
    }

    /// This process gave the batch up and closed its connection; its events are to answer for it as if the process had died.
    ///
    /// - Parameter isAlone: whether there is only one event, a suspect.
    func giveUp(_ lane: ClaimedBatch.Lane, isAlone: Bool, reason: String, _ rules: LostBatches.Rules) async {
        do {
            try await commit([
                "UPDATE appstore.inbox_in_flight SET given_up = \(reason), is_alone = \(isAlone) WHERE lane = \(lane)"
            ])
            // Waits for the end of the batch's transaction, so that the events are suspects before anybody takes them again.
            _ = try await side.withTransaction { transaction in
                try await transaction.execute("SELECT pg_advisory_xact_lock(\(lane))")
                return try await LostBatches.judge(rules, in: transaction)
            }
        } catch {
            // The marker is still there, and the next look for lost batches finds it.
            logger.warning("batch could not be given up at once", metadata: ["error": "\(error)"])
        }
    }

    /// Looks for batches that were lost and draws the consequences for their events.
    func lookForLostBatches(_ rules: LostBatches.Rules) async throws -> LossReport {
        try await sparingForgotten { forgotten in
            try await side.withTransaction { transaction in
                if !forgotten.isEmpty { try await transaction.execute(Self.remove(forgotten)) }
                return try await LostBatches.judge(rules, in: transaction)
            }
        }
    }

    private func commit(_ statements: [Statement]) async throws {
        try await sparingForgotten { forgotten in
            let all = forgotten.isEmpty ? statements : [Self.remove(forgotten)] + statements
            try await side.withConnection { connection in _ = try await connection.pipeline(all) }
        }
    }

    /// Takes the forgotten lanes out for the length of `body`, and for good when it succeeds.
    private func sparingForgotten<T: Sendable>(_ body: ([ClaimedBatch.Lane]) async throws -> T) async throws -> T {
        let lanes = forgotten.withLock { lanes in
            defer { lanes.removeAll() }
            return lanes
        }
        do {
            return try await body(lanes.sorted())
        } catch {
            forgotten.withLock { $0.formUnion(lanes) }
            throw error
        }
    }

    private static func remove(_ lanes: [ClaimedBatch.Lane]) -> Statement {
        "DELETE FROM appstore.inbox_in_flight WHERE lane = ANY (\(lanes))"
    }
}
