import HTTPServing
import Metrics

/// The metrics of the shop API.
struct APIMetrics: Sendable {
    let listener: ListenerMetrics
    private let answers: CounterFamily
    private let factory: any MetricsFactory

    init(factory: any MetricsFactory = MetricsSystem.factory, refusalLog: RefusalLog? = nil) {
        self.factory = factory
        listener = ListenerMetrics(listener: "api", factory: factory, log: refusalLog)
        answers = CounterFamily(label: "appstore_inbox_api_answered_total", factory: factory)
    }

    /// Counts the answers of one operation, such as `POST /v1/orders`.
    struct Operation: Sendable {
        fileprivate let name: String
        fileprivate let answers: CounterFamily
        fileprivate let duration: Timer

        /// Counts an answer to a request that was not refused.
        func answered(status: Int, after duration: Duration) {
            answers.increment([("operation", name), ("status", "\(status)")])
            self.duration.record(duration: duration)
        }
    }

    /// Creates the metrics of an operation. The name must be a path template without values of a request.
    func operation(_ name: String) -> Operation {
        let timer = Timer(label: "appstore_inbox_api_answer_seconds", dimensions: [("operation", name)], factory: factory)
        return Operation(name: name, answers: answers, duration: timer)
    }
}
