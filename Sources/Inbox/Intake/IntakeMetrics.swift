import Metrics

/// What an intake counts.
struct IntakeMetrics: Sendable {
    private let batchEvents = Recorder(label: "appstore_inbox_ingest_batch_events")
    private let committed = Timer(label: "appstore_inbox_ingest_commit_seconds", preferredDisplayUnit: .seconds)
    private let failed = Counter(label: "appstore_inbox_ingest_commit_failures")

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
