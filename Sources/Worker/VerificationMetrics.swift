package import Metrics

/// Measures the duration of verification.
package struct VerificationMetrics: Sendable {
    private let duration: Timer

    package init(factory: any MetricsFactory = MetricsSystem.factory) {
        duration = Timer(label: "appstore_inbox_worker_verification_seconds", factory: factory)
    }

    /// Measures the preparation of one event, without the database.
    func measure<Value>(_ verification: () -> Value) -> Value {
        let start = ContinuousClock.now
        defer { duration.record(duration: .now - start) }
        return verification()
    }
}
