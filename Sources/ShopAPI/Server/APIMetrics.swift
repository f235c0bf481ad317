import HTTPServing
import Metrics

/// What the interface counts.
struct APIMetrics: Sendable {
    let listener: ListenerMetrics
    private let answers: CounterFamily
    private let factory: any MetricsFactory

    init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
        listener = ListenerMetrics(listener: "api", factory: factory)
        answers = CounterFamily(label: "appstore_inbox_api_answered_total", factory: factory)
    }

    /// Counts what one operation, such as `POST /v1/orders`, answers.
    struct Operation: Sendable {
        fileprivate let name: String
        fileprivate let answers: CounterFamily
        fileprivate let duration: Timer

        /// It answered a request that was not refused, so long after its arrival.
        func answered(status: Int, after duration: Duration) {
            answers.increment([("operation", name), ("status", "\(status)")])
            self.duration.record(duration: duration)
        }
    }

    /// What counts for an operation; its name must be a template, without values of a request.
    func operation(_ name: String) -> Operation {
        let timer = Timer(label: "appstore_inbox_api_answer_seconds", dimensions: [("operation", name)], factory: factory)
        return Operation(name: name, answers: answers, duration: timer)
    }
}
