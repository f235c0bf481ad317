import Metrics

/// The metrics of the App Store Server API.
struct ServerAPIMetrics: Sendable {
    private let factory: any MetricsFactory
    private let skew: Gauge

    init(factory: any MetricsFactory) {
        self.factory = factory
        skew = Gauge(label: "appstore_inbox_server_api_clock_skew_seconds", factory: factory)
        // So that the first refusal is an increase.
        for code in KeyRefusal.codes { count(refusal: code, by: 0) }
    }

    /// Counts a request. Codes that Apple does not document are one series.
    ///
    /// - Parameter status: the HTTP status, or why there was no answer.
    func count(_ endpoint: ServerAPIEndpoint, status: String, code: ServerAPIErrorCode?) {
        let code = code.map { $0.name == nil ? "other" : "\($0.rawValue)" } ?? "none"
        let dimensions = [("endpoint", endpoint.rawValue), ("status", status), ("code", code)]
        Counter(label: "appstore_inbox_server_api_requests_total", dimensions: dimensions, factory: factory).increment()
    }

    func refused(_ cause: KeyRefusal) {
        count(refusal: cause.code, by: 1)
    }

    private func count(refusal code: String, by count: Int64) {
        Counter(label: "appstore_inbox_server_api_key_refused_total", dimensions: [("cause", code)], factory: factory).increment(by: count)
    }

    func measured(skew seconds: Double) { skew.record(seconds) }
}
