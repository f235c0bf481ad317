import Glibc
import Logging
import Postgres
import Synchronization

/// Ends the process when a computation does not get on: it keeps one of Swift's few threads for ever, and with the last of them no timer fires and
/// no batch goes on. A thread of its own keeps the time. Crash markers tell the next process which events were in flight.
final class ComputeWatchdog: Sendable {
    private struct Watched {
        /// A number that grows, or nil while the computation waits for the database.
        let progress: @Sendable () -> Int?
        /// How many rounds it may stay the same.
        let maximumRounds: Int
        let logger: Logger
        var last: Int?
        var rounds = 0
    }

    private enum Action {
        case goOn
        /// No computation is left to watch.
        case end
        case endProcess(Logger)
    }

    private struct State {
        var watched: [QueueStatements.Lane: Watched] = [:]
        var isRunning = false
        /// How many rounds there was no computation.
        var idleRounds = 0

        mutating func countRound() -> Action {
            idleRounds = watched.isEmpty ? idleRounds + 1 : 0
            if idleRounds > 50 {
                self = State()
                return .end
            }
            for lane in watched.keys {
                guard var entry = watched[lane] else { continue }
                let progress = entry.progress()
                entry.rounds = progress != nil && progress == entry.last ? entry.rounds + 1 : 0
                entry.last = progress
                watched[lane] = entry
                if entry.rounds >= entry.maximumRounds { return .endProcess(entry.logger) }
            }
            return .goOn
        }
    }

    private let state = Mutex(State())

    /// The process's own.
    static let shared = ComputeWatchdog()

    private static var period: Duration { .milliseconds(100) }
    /// Watches the computation of a batch until ``end(_:)``.
    ///
    /// - Parameters:
    ///   - limit: how long it may take without progress. Rounds of the thread are counted, so that a machine that was suspended is not taken for a
    ///     process that hangs.
    ///   - progress: called on the watchdog's thread; must not block.
    func watch(_ lane: QueueStatements.Lane, for limit: Duration, _ logger: Logger, _ progress: @escaping @Sendable () -> Int?) {
        let watched = Watched(progress: progress, maximumRounds: max(1, Int(limit / Self.period)), logger: logger)
        let isFirst = state.withLock { state in
            state.watched[lane] = watched
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isFirst else { return }
        do throws(PostgresError) {
            try DetachedThread.start(named: "watchdog") { self.run() }
        } catch {
            state.withLock { $0.isRunning = false }
            logger.error("computations are not watched", metadata: ["error": "\(error)"])
        }
    }

    func end(_ lane: QueueStatements.Lane) {
        state.withLock { _ = $0.watched.removeValue(forKey: lane) }
    }

    private func run() {
        while true {
            usleep(100_000)
            switch state.withLock({ $0.countRound() }) {
            case .goOn: continue
            case .end: return
            case .endProcess(let logger):
                logger.critical("a computation does not end, the process ends itself to be started again")
                _exit(70)
            }
        }
    }
}
