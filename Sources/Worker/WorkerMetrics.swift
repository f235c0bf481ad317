import Inbox
import Metrics

/// The worker's counters.
enum WorkerMetrics {
    static func record(_ report: BatchReport) {
        guard report.events > 0 else { return }
        for (result, count) in report.results {
            Counter(label: "appstore_inbox_worker_outcomes", dimensions: [("result", result.rawValue)]).increment(by: count)
        }
        Counter(label: "appstore_inbox_worker_retries").increment(by: report.retries)
        Recorder(label: "appstore_inbox_worker_batch_events").record(report.events)
    }

    static func recordLostBatch() {
        Counter(label: "appstore_inbox_worker_batches_lost").increment()
    }
}
