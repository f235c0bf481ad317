import Metrics

/// The metrics of reading the history in this process.
struct HistoryMetrics: Sendable {
    let factory: any MetricsFactory

    func failed(_ reason: String) {
        Counter(label: "appstore_inbox_history_errors_total", dimensions: [("reason", reason)], factory: factory).increment()
    }
}
