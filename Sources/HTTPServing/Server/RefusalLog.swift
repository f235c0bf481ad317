package import Logging
import ServiceLifecycle
import Synchronization

/// Counts refused requests, and logs the number of each kind once a minute while there are any.
package final class RefusalLog: Service {
    private struct Kind: Hashable {
        let listener: String
        let status: Int
        let reason: String
        var path: String?
    }

    /// Unknown paths are the client's choice: beyond this number of kinds, a minute's refusals are logged without their paths.
    private static let maximumKinds = 50

    private let counts = Mutex<[Kind: Int]>([:])
    private let interval: Duration
    private let logger: Logger

    package init(every interval: Duration = .seconds(60), logger: Logger) {
        self.interval = interval
        self.logger = logger
    }

    /// Logs until graceful shutdown, and then what was refused since the last time.
    package func run() async throws {
        try await cancelWhenGracefulShutdown { [self] in
            do {
                while true {
                    try await Task.sleep(for: interval)
                    report()
                }
            } catch is CancellationError {
                // Graceful shutdown ends the wait.
            }
        }
        report()
    }

    func record(_ problem: Problem, listener: String, place: String?) {
        var kind = Kind(listener: listener, status: problem.status, reason: problem.reason, path: place)
        counts.withLock { counts in
            if counts.count >= Self.maximumKinds, counts[kind] == nil { kind.path = nil }
            counts[kind, default: 0] += 1
        }
    }

    private func report() {
        let counts = counts.withLock { counts in
            defer { counts = [:] }
            return counts
        }
        for (kind, count) in counts.sorted(by: { $0.value > $1.value }) {
            var metadata: Logger.Metadata = [
                LogKey.listener: "\(kind.listener)", LogKey.refusedStatus: "\(kind.status)", LogKey.refusedReason: "\(kind.reason)",
                LogKey.refusedCount: "\(count)",
            ]
            if let path = kind.path { metadata[LogKey.refusedPath] = "\(path)" }
            logger.notice("requests were refused", metadata: metadata)
        }
    }
}
