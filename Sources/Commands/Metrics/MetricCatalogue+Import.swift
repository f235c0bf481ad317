import Import

extension MetricCatalogue {
    /// The running imports, of all workers.
    static let imports = ImportStatistics.metrics.map(\.description)
}

extension ImportStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        CollectedMetric("import_remaining", "Customers of running imports that Apple has not answered yet.") { Double($0.remaining) },
        CollectedMetric(
            "import_eta_seconds",
            "Seconds until the last running import is done, at the rate of the last ten minutes; absent while no rate is known."
        ) { $0.timeLeft.map { max(0, $0) } },
    ]
}
