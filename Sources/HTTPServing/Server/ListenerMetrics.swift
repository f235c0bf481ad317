package import Metrics

/// What a listener counts: its connections, and what it refuses.
package struct ListenerMetrics: Sendable {
    private let refusals: CounterFamily
    private let connections: Meter
    private let listener: String

    /// - Parameter listener: what the listener is for, the label of its series.
    package init(listener: String, factory: any MetricsFactory = MetricsSystem.factory) {
        self.listener = listener
        refusals = CounterFamily(label: "appstore_inbox_http_refused_total", factory: factory)
        connections = Meter(label: "appstore_inbox_http_connections", dimensions: [("listener", listener)], factory: factory)
    }

    /// A request was answered with a problem.
    func refused(_ problem: Problem) {
        refusals.increment([("listener", listener), ("reason", problem.reason), ("status", "\(problem.status)")])
    }

    /// A connection was accepted.
    func opened() {
        connections.increment()
    }

    /// A connection has gone.
    func closed() {
        connections.decrement()
    }
}
