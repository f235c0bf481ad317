package import Logging
import Reporting
import ServiceLifecycle

/// Counts refused requests, and logs the number of each kind once a minute while there are any.
package final class RefusalLog: Service {
    private let summary: OccurrenceSummary
    private let interval: Duration

    package init(every interval: Duration = .seconds(60), logger: Logger) {
        self.interval = interval
        summary = OccurrenceSummary("requests were refused", interval: interval, maximumKinds: 50, logger: logger)
    }

    /// Logs until graceful shutdown, and then what was refused since the last time.
    package func run() async throws {
        try await cancelWhenGracefulShutdown { [self] in
            do {
                while true {
                    try await Task.sleep(for: min(interval, .seconds(1)))
                    summary.flush()
                }
            } catch is CancellationError {
                // Graceful shutdown ends the wait.
            }
        }
        summary.flush(all: true)
    }

    /// Counts a refusal. Unknown paths are the client's choice, so they are a detail.
    func record(_ problem: Problem, listener: String, place: String?) {
        summary.count(
            [LogKey.listener: listener, LogKey.refusedStatus: "\(problem.status)", LogKey.refusedReason: problem.reason],
            details: place.map { [LogKey.refusedPath: $0] } ?? [:],
            level: .notice
        )
    }
}
