import Postgres
import Prometheus

/// Numbers of the database that a worker exposes as metrics.
protocol ExposedStatistics: Statistics {
    static var metrics: [CollectedMetric<Self>] { get }
}

/// A metric, and its series in a reading of the database.
struct CollectedMetric<Numbers: Statistics>: Sendable {
    typealias Reading = StatisticsCollector<Numbers>.Reading

    let description: MetricDescription
    let samples: @Sendable (Reading) -> [MetricRegistry.Sample]
}

extension CollectedMetric {
    /// A metric with one series, which is absent where the value is nil.
    ///
    /// - Parameter name: without the prefix of all metrics.
    init(_ name: String, _ help: String, _ kind: MetricDescription.Kind = .gauge, _ value: @escaping @Sendable (Numbers) -> Double?) {
        self = .each(name, help, kind) { reading in value(reading.numbers).map { [MetricRegistry.Sample([], $0)] } ?? [] }
    }

    /// A time: ages by the database's clock before the instant of the reading, so that it stays the same between two readings.
    init(_ name: String, at help: String, _ age: @escaping @Sendable (Numbers) -> Duration?) {
        self = .each(name, help + ", in seconds since 1970; absent where there is none.") { reading in
            age(reading.numbers).map { [MetricRegistry.Sample([], reading.time - $0 / .seconds(1))] } ?? []
        }
    }

    /// A metric with any number of series.
    static func each(
        _ name: String,
        _ help: String,
        _ kind: MetricDescription.Kind = .gauge,
        _ samples: @escaping @Sendable (Reading) -> [MetricRegistry.Sample]
    ) -> CollectedMetric {
        CollectedMetric(description: MetricDescription("appstore_inbox_" + name, kind, help), samples: samples)
    }
}

extension StatisticsCollector where Numbers: ExposedStatistics {
    /// Exposes the latest numbers; they are absent until the database has answered.
    func expose(in registry: MetricRegistry) {
        for metric in Numbers.metrics {
            registry.observe(metric.description.name, each: { [self] in latest.map(metric.samples) ?? [] })
        }
    }
}
