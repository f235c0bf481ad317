import Logging
import Postgres
import Synchronization

/// Records in the database which events each batch holds, so that another process can isolate them when this one dies.
///
/// A marker is committed on a side connection after the claim, and the batch's own transaction deletes it. For as long as that transaction is
/// open it holds the advisory lock of its lane, which needs no session: a pooler in transaction mode changes nothing. A marker whose lock is free
/// belongs to a batch that ended without a commit. Its process died, or it lives, lost its connection, and removes the marker with its next
/// ``recover(on:grace:)``.
///
/// Markers are written only where a death is likely: in the first ten minutes of a process, since the one before it may have died, and for an hour
/// after lost batches were found. So in normal life there is no side connection. An event that kills an older process is claimed first by the next
/// one, which marks it. Where the side connection cannot be had, batches go on without markers until the next recovery has succeeded.
final class CrashMarkers: Sendable {
    private struct State {
        var neededUntil: ContinuousClock.Instant
        /// Batches that were lost while this process lives.
        var forgotten: Set<QueueStatements.Lane> = []
        /// Whether the side connection could not be had.
        var isAway = false
    }

    /// How long processes mark their batches after lost ones were found.
    private static var neededAfterLoss: Duration { .seconds(3600) }

    let side: ConnectionPool
    private let configuration: QueueConfiguration
    private let logger: Logger
    private let state: Mutex<State>

    init(side: ConnectionPool, _ configuration: QueueConfiguration, logger: Logger) {
        self.side = side
        self.configuration = configuration
        self.logger = logger
        state = Mutex(State(neededUntil: .now + configuration.markersAfterStart))
    }

    /// Whether batches are to be marked now.
    var areNeeded: Bool { state.withLock { !$0.isAway && .now < $0.neededUntil } }

    /// Marks the events of a batch. It goes on without a marker when that fails: the danger is rare, and the next process has markers again.
    func mark(_ events: [Int64], lane: QueueStatements.Lane) async {
        do {
            _ = try await side.query(QueueStatements.mark(events, lane: lane))
        } catch {
            // The marker may be there all the same: only its answer was lost.
            forget(lane)
            if error is CancellationError { return }
            let wasAway = state.withLock { state in
                defer { state.isAway = true }
                return state.isAway
            }
            let level: Logger.Level = wasAway || error.isDatabaseOutage ? .debug : .warning
            logger.log(level: level, "batches go on without crash markers", metadata: ["error": "\(error)"])
        }
    }

    /// The batch ended without a commit, but this process lives. The next recovery removes the marker, if there is one.
    func forget(_ lane: QueueStatements.Lane) {
        _ = state.withLock { $0.forgotten.insert(lane) }
    }

    /// Removes the markers of batches that this process lost, and judges those of others.
    func recover(on pool: ConnectionPool, grace: Duration) async throws -> RecoveryReport {
        let lanes = state.withLock { state in
            defer { state.forgotten = [] }
            return state.forgotten
        }
        do {
            let recover = QueueStatements.recover(removing: lanes.sorted(), configuration, grace: grace)
            let report = try RecoveryReport(await pool.query(recover)[0])
            let wasAway = state.withLock { state in
                if report.lost > 0 { state.neededUntil = max(state.neededUntil, .now + Self.neededAfterLoss) }
                defer { state.isAway = false }
                return state.isAway
            }
            if wasAway { logger.debug("batches are marked again") }
            return report
        } catch {
            state.withLock { $0.forgotten.formUnion(lanes) }
            throw error
        }
    }
}

/// What a search for lost batches found.
package struct RecoveryReport: Sendable, Hashable {
    /// Batches that ended without a commit.
    package let lost: Int
    /// Events that run by themselves from now on.
    package let isolated: Int
    /// Deaths of a process that one event caused.
    package let deaths: Int
    /// Events that had their last death.
    package let failed: [Int64]
    /// Whether an isolated event is due.
    package let isolatedAreDue: Bool

    init(_ row: Row) throws {
        lost = Int(try row.decode("lost", as: Int32.self))
        isolated = Int(try row.decode("isolated", as: Int32.self))
        deaths = Int(try row.decode("deaths", as: Int32.self))
        failed = try row.decode("failed")
        isolatedAreDue = try row.decode("isolated_are_due")
    }
}
