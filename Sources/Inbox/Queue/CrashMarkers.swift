import Logging
import Postgres
import SQL
import Synchronization

/// Says in the database which events each batch has in its hands, so that it is known afterwards if their process dies.
///
/// A marker is committed on a side connection after the claim and before anything is done with the events; the batch's own transaction
/// deletes it. For as long as that transaction is open it holds the advisory lock of its lane, which ends with it and needs no session, so
/// that a pooler in transaction mode changes nothing. A marker whose lane is free belongs to a batch that ended without a commit: its
/// process died, or it lost its connection and lives; then it says so (``forget(_:)``).
///
/// When the side connection cannot be had, because the server takes no more connections or answers too slowly, batches go on without a
/// marker, and without waiting for one until a look for lost batches has come through again: the queue must not stand still for a danger that is
/// rare, and if the danger is real the next process will have a marker again. Only a suspect never runs without one.
final class CrashMarkers: Sendable {
    /// A suspect could not be marked, so it must not run.
    struct Unmarked: Error {
        let cause: (any Error)?
    }

    let side: ConnectionPool
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
    /// - Parameter isSuspect: whether it is one event by itself: a death of the process would be its fault.
    /// - Throws: ``Unmarked`` when a suspect cannot be marked.
    func mark(_ events: [ClaimedEvent], lane: ClaimedBatch.Lane, isSuspect: Bool) async throws {
        if isAway.load(ordering: .relaxed) {
            if isSuspect { throw Unmarked(cause: nil) }
            return
        }
        do {
            try await commit([Self.insert(events.map(\.eventID), lane: lane, isSuspect: isSuspect)])
        } catch let error as PostgresError {
            // Said once, not for each batch.
            if !isAway.exchange(true, ordering: .relaxed) {
                logger.warning("batches go on without crash markers", metadata: ["error": "\(error)"])
            }
            // It may be there all the same: its answer was lost.
            forget(lane)
            if isSuspect { throw Unmarked(cause: error) }
        }
    }

    /// Says whether a death of the process would be the fault of a suspect that goes on beside others.
    func accuse(_ lane: ClaimedBatch.Lane, _ isAccused: Bool) async {
        do {
            try await commit([Statement(.changeMarker, ["is_alone": isAccused, "lane": lane])])
        } catch {
            logger.warning(
                "the marker of a suspect is not as it should be",
                metadata: ["marker.accuses": "\(!isAccused)", "error": "\(error)"]
            )
        }
    }

    /// The batch was lost, but not by a crash of this process: no event is at fault. The marker goes with the next conversation on the side connection.
    func forget(_ lane: ClaimedBatch.Lane) {
        _ = forgotten.withLock { $0.insert(lane) }
    }

    /// Looks for batches that were lost and draws the consequences for their events. One statement without a transaction is enough where
    /// there are none.
    func lookForLostBatches(_ rules: LostBatches.Rules) async throws -> LossReport {
        let report = try await sparingForgotten { forgotten in
            try await side.withConnection { connection in
                let statements = (forgotten.isEmpty ? [] : [Self.remove(forgotten)]) + [LostBatches.find(rules)]
                let found = try await connection.pipeline(statements)
                let (lanes, report) = try LostBatches.found(found[statements.count - 1])
                guard !lanes.isEmpty else { return report }
                return try await connection.withTransaction { try await LostBatches.judge(rules, in: $0) }
            }
        }
        if isAway.exchange(false, ordering: .relaxed) { logger.notice("batches are marked again") }
        return report
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

    /// A marker is for the death of this process, which PostgreSQL outlives: it need not be on the disk before the batch goes on. Only that of
    /// a suspect waits, for it may take the machine with it.
    private static func insert(_ ids: [Int64], lane: ClaimedBatch.Lane, isSuspect: Bool) -> Statement {
        Statement(isSuspect ? .markIsolated : .markBatch, ["lane": lane, "event_ids": ids])
    }

    private static func remove(_ lanes: [ClaimedBatch.Lane]) -> Statement {
        Statement(.removeMarkers, ["lanes": lanes])
    }
}
