import HTTPServing
import Metrics

/// How many pages and actions were answered, and how long they took.
struct ConsoleMetrics: Sendable {
    private let answers: CounterFamily
    private let factory: any MetricsFactory

    init(factory: any MetricsFactory) {
        self.factory = factory
        answers = CounterFamily(label: "appstore_inbox_console_answered_total", factory: factory)
    }

    /// The metrics of one route, such as `GET /audit`.
    struct Operation: Sendable {
        fileprivate let name: String
        fileprivate let answers: CounterFamily
        fileprivate let duration: Timer

        func answered(status: Int, after duration: Duration) {
            answers.increment([("operation", name), ("status", "\(status)")])
            self.duration.record(duration: duration)
        }
    }

    /// - Parameter name: with a template, never with the path of a request.
    func operation(_ name: String) -> Operation {
        let timer = Timer(label: "appstore_inbox_console_answer_seconds", dimensions: [("operation", name)], factory: factory)
        return Operation(name: name, answers: answers, duration: timer)
    }
}
