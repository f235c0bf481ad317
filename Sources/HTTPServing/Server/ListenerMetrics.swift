package import Metrics

/// The metrics of a listener: its connections and refused requests.
package struct ListenerMetrics: Sendable {
    private let refusals: CounterFamily
    private let connections: Meter
    private let listener: String

    /// - Parameter listener: the value of the label `listener`.
    package init(listener: String, factory: any MetricsFactory = MetricsSystem.factory) {
        self.listener = listener
        refusals = CounterFamily(label: "appstore_inbox_http_refused_total", factory: factory)
        connections = Meter(label: "appstore_inbox_http_connections", dimensions: [("listener", listener)], factory: factory)
    }

    /// Counts a request that was answered with a problem.
    func refused(_ problem: Problem) {
        refusals.increment([("listener", listener), ("reason", problem.reason), ("status", "\(problem.status)")])
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
