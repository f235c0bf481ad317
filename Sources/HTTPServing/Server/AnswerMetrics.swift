package import Metrics

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
