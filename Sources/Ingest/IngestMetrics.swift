import Metrics

/// The HTTP metrics of ingest.
struct IngestMetrics: Sendable {
    private let answered: Timer
    private let factory: any MetricsFactory

    init(factory: any MetricsFactory) {
        self.factory = factory
        answered = Timer(label: "appstore_inbox_ingest_accept_seconds", factory: factory)
    }

    /// The metrics of one route.
    struct Route: Sendable {
        fileprivate let accepted: Counter
        fileprivate let acceptedBytes: Counter
        fileprivate let answered: Timer

        /// Counts a stored body and the time from its last byte to its commit.
        func accepted(bytes: Int, after duration: Duration) {
            accepted.increment()
            acceptedBytes.increment(by: bytes)
            answered.record(duration: duration)
        }
    }

    /// Creates the metrics of the route with that path.
    func route(_ path: String) -> Route {
        let dimensions = [("route", path)]
        return Route(
            accepted: Counter(label: "appstore_inbox_ingest_accepted_total", dimensions: dimensions, factory: factory),
            acceptedBytes: Counter(label: "appstore_inbox_ingest_accepted_bytes_total", dimensions: dimensions, factory: factory),
            answered: answered
        )
    }
}
