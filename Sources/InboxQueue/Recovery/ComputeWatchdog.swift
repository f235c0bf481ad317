import Glibc
import Logging
import Postgres
import ServiceSupport
import Synchronization

/// Ends the process when a computation makes no progress: it keeps one of Swift's few threads for ever, and with the last of them no timer fires
/// and no batch goes on. Crash markers tell the next process which events were in flight.
enum ComputeWatchdog {
    /// How often a computation was seen without progress.
    private final class Rounds: Sendable {
        private let state = Mutex((last: Int?.none, count: 0))

        func count(_ progress: Int?) -> Int {
            state.withLock { state in
                state.count = progress != nil && progress == state.last ? state.count + 1 : 0
                state.last = progress
                return state.count
            }
        }
    }

    /// Watches a computation.
    ///
    /// - Parameters:
    ///   - limit: how long it may take without progress. Rounds of the ticker are counted, so that a machine that was suspended is not taken for
    ///     a process that hangs.
    ///   - progress: a number that grows, or nil while the computation waits for the database; called on the ticker's thread, must not block.
    static func watch<Value>(
        for limit: Duration,
        _ logger: Logger,
        progress: @escaping @Sendable () -> Int?,
        _ body: () async throws -> Value
    ) async rethrows -> Value {
        let rounds = Rounds()
        let maximum = max(1, Int(limit / Ticker.period))
        var action: Int?
        do throws(ThreadError) {
            action = try Ticker.shared.add {
                guard rounds.count(progress()) >= maximum else { return true }
                logger.critical("a computation does not end, the process ends itself to be started again")
                _exit(70)
            }
        } catch {
            logger.error("a computation is not watched", metadata: ["error": "\(error)"])
        }
        defer { if let action { Ticker.shared.remove(action) } }
        return try await body()
    }
}
