package import Metrics

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
