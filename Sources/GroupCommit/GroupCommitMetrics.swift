import Metrics

/// The metrics of a group committer.
struct GroupCommitMetrics: Sendable {
    private let batchEvents: Recorder
    private let committed: Timer
    private let failed: Counter

    init(factory: any MetricsFactory) {
        batchEvents = Recorder(label: "appstore_inbox_ingest_batch_events", factory: factory)
        committed = Timer(label: "appstore_inbox_ingest_commit_seconds", factory: factory)
        failed = Counter(label: "appstore_inbox_ingest_commit_failures_total", factory: factory)
    }

    /// Measures a commit: its size and time, or its failure.
    func measureCommit<Value>(events: Int, _ commit: () async throws -> Value) async throws -> Value {
        let clock = ContinuousClock()
        let start = clock.now
        do {
            let value = try await commit()
            committed.record(duration: clock.now - start)
            batchEvents.record(events)
            return value
        } catch {
            failed.increment()
            throw error
        }
    }
}
