import Metrics

/// What the HTTP side of ingest counts.
struct IngestMetrics: Sendable {
    private let accepted: Counter
    private let acceptedBytes: Counter
    private let answered: Timer

    init(factory: any MetricsFactory) {
        accepted = Counter(label: "appstore_inbox_ingest_accepted_total", factory: factory)
        acceptedBytes = Counter(label: "appstore_inbox_ingest_accepted_bytes_total", factory: factory)
        answered = Timer(label: "appstore_inbox_ingest_accept_seconds", factory: factory)
    }

    /// Counts a stored body and the time from its last byte to its commit.
    func accepted(bytes: Int, after duration: Duration) {
        accepted.increment()
        acceptedBytes.increment(by: bytes)
        answered.record(duration: duration)
    }
}
