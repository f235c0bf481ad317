import Metrics

/// The metrics of one endpoint. Its name is a label: an operator chose it, and there are few.
struct WebhookMetrics: Sendable {
    private let attempts: [DeliveryReport.Result: Counter]
    private let seconds: Timer

    init(endpoint: String, factory: any MetricsFactory) {
        let results = DeliveryReport.Result.allCases.filter { $0 != .held }
        attempts = Dictionary(
            uniqueKeysWithValues: results.map { result in
                let dimensions = [("endpoint", endpoint), ("result", result.rawValue)]
                return (result, Counter(label: "appstore_inbox_endpoint_attempts_total", dimensions: dimensions, factory: factory))
            }
        )
        seconds = Timer(label: "appstore_inbox_endpoint_seconds", dimensions: [("endpoint", endpoint)], factory: factory)
    }

    func count(_ result: DeliveryReport.Result) { attempts[result]?.increment() }

    func count(_ result: DeliveryReport.Result, after duration: Duration) {
        count(result)
        seconds.record(duration: duration)
    }
}
