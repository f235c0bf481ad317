package import Logging
package import Metrics
import ServiceLifecycle
import ServiceSupport
import Synchronization

/// The metrics of a listener, its connections and refused requests; it also tells the log of the refused ones.
package struct ListenerMetrics: Sendable {
    private let refusals: CounterFamily
    private let connections: Meter
    private let listener: String
    private let log: RefusalLog?

    /// - Parameters:
    ///   - listener: the value of the label `listener`.
    ///   - log: where refused requests are summarised; nil for nowhere.
    package init(listener: String, factory: any MetricsFactory = MetricsSystem.factory, log: RefusalLog? = nil) {
        self.listener = listener
        self.log = log
        refusals = CounterFamily(label: "appstore_inbox_http_refused_total", factory: factory)
        connections = Meter(label: "appstore_inbox_http_connections", dimensions: [("listener", listener)], factory: factory)
    }

    /// Counts a request that was answered with a problem.
    ///
    /// - Parameter place: what the log calls the path; nil when the request had none.
    func refused(_ problem: Problem, at place: String?) {
        refusals.increment([("listener", listener), ("reason", problem.reason), ("status", "\(problem.status)")])
        log?.record(problem, listener: listener, place: place)
    }

    /// Counts a new connection.
    func opened() {
        connections.increment()
    }

    /// Counts a closed connection.
    func closed() {
        connections.decrement()
    }
}

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

/// How many requests of a listener were answered, and how long that took, by operation.
package struct AnswerMetrics: Sendable {
    private let listener: String
    private let answers: CounterFamily
    private let factory: any MetricsFactory

    package init(listener: String, factory: any MetricsFactory = MetricsSystem.factory) {
        self.listener = listener
        self.factory = factory
        answers = CounterFamily(label: "appstore_inbox_\(listener)_answered_total", factory: factory)
    }

    /// The metrics of one operation, such as `POST /v1/orders`.
    package struct Operation: Sendable {
        fileprivate let name: String
        fileprivate let answers: CounterFamily
        fileprivate let duration: Timer

        /// Counts an answer to a request that was not refused.
        package func answered(status: Int, after duration: Duration) {
            answers.increment([("operation", name), ("status", "\(status)")])
            self.duration.record(duration: duration)
        }
    }

    /// - Parameter name: with a path template, never with values of a request.
    package func operation(_ name: String) -> Operation {
        let timer = Timer(label: "appstore_inbox_\(listener)_answer_seconds", dimensions: [("operation", name)], factory: factory)
        return Operation(name: name, answers: answers, duration: timer)
    }
}

/// Counters with one name, each created at the first use of its labels. Label values must never come from a request: each set of labels
/// stays in memory.
package final class CounterFamily: Sendable {
    private let label: String
    private let factory: any MetricsFactory
    private let counters = Mutex<[[String]: Counter]>([:])

    package init(label: String, factory: any MetricsFactory) {
        self.label = label
        self.factory = factory
    }

    /// Increments the counter with these labels. The label names must be the same in each call.
    package func increment(_ dimensions: [(String, String)]) {
        counter(dimensions).increment()
    }

    private func counter(_ dimensions: [(String, String)]) -> Counter {
        counters.withLock { counters in
            let key = dimensions.map(\.1)
            if let known = counters[key] { return known }
            let counter = Counter(label: label, dimensions: dimensions, factory: factory)
            counters[key] = counter
            return counter
        }
    }
}

/// The keys of this module's log metadata.
enum LogKey {
    static let connectionError = "connection.error"
    static let listener = "listener"
    fileprivate static let refusedStatus = "refused.status"
    fileprivate static let refusedReason = "refused.reason"
    fileprivate static let refusedPath = "refused.path"
}
