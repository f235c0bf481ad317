import Metrics

/// What the HTTP side of ingest counts.
struct IngestMetrics: Sendable {
    private let accepted = Counter(label: "appstore_inbox_ingest_accepted")
    private let acceptedBytes = Counter(label: "appstore_inbox_ingest_accepted_bytes")
    private let answered = Timer(label: "appstore_inbox_ingest_accept_seconds", preferredDisplayUnit: .seconds)

    /// Counts a stored body and the time from its last byte to its commit.
    func accepted(bytes: Int, after duration: Duration) {
        accepted.increment()
        acceptedBytes.increment(by: bytes)
        answered.record(duration: duration)
    }
}
