package import Metrics
import Synchronization

/// The metrics of a process: the factory of swift-metrics' handlers, and their exposition in Prometheus' text format.
///
/// Only described metrics are exposed. Making a counter takes a lock and a dictionary look-up, counting neither: keep the counter.
package final class MetricRegistry: MetricsFactory {
    private enum Cell {
        case counter(CounterCell)
        case gauge(GaugeCell)
        case histogram(HistogramCell)
        /// Called at each rendering; returns nil while the value is unknown.
        case observed(@Sendable () -> Double?)
    }

    private struct State {
        var series: [String: [Labels: Cell]] = [:]
        /// Read at each rendering: series whose labels come and go.
        var groups: [String: @Sendable () -> [Sample]] = [:]
        var undescribed: Set<String> = []
    }

    /// The value of one series.
    package struct Sample: Sendable {
        package let dimensions: [(String, String)]
        package let value: Double

        package init(_ dimensions: [(String, String)], _ value: Double) {
            self.dimensions = dimensions
            self.value = value
        }
    }

    private let descriptions: [String: MetricDescription]
    private let state = Mutex(State())

    package init(_ descriptions: [MetricDescription]) {
        self.descriptions = Dictionary(descriptions.map { ($0.name, $0) }) { first, _ in first }
    }

    /// Requested metrics without a description, or described with another type. Their values are dropped.
    package var undescribed: Set<String> { state.withLock(\.undescribed) }

    /// Exposes a counter or a gauge whose value is read at each rendering. Reading must not block.
    package func observe(_ name: String, _ dimensions: [(String, String)] = [], _ read: @escaping @Sendable () -> Double?) {
        switch descriptions[name]?.kind {
        case .counter, .gauge: state.withLock { $0.series[name, default: [:]][Labels(dimensions)] = .observed(read) }
        case .histogram, nil: refuse(name)
        }
    }

    /// Exposes a counter or a gauge whose series are those that are read at each rendering. Reading must not block.
    package func observe(_ name: String, each read: @escaping @Sendable () -> [Sample]) {
        switch descriptions[name]?.kind {
        case .counter, .gauge: state.withLock { $0.groups[name] = read }
        case .histogram, nil: refuse(name)
        }
    }

    /// All metrics in text format 0.0.4, sorted by name and labels.
    package func render() -> String {
        let (series, groups) = state.withLock { ($0.series, $0.groups) }
        var text = ""
        for description in descriptions.values.sorted(by: { $0.name < $1.name }) {
            Exposition.append(description, to: &text)
            for (labels, cell) in (series[description.name] ?? [:]).sorted(by: { $0.key < $1.key }) {
                append(cell, description.name, labels, to: &text)
            }
            let samples = (groups[description.name]?() ?? []).map { (labels: Labels($0.dimensions), value: $0.value) }
            for sample in samples.sorted(by: { $0.labels < $1.labels }) {
                Exposition.append(description.name, sample.labels, sample.value, to: &text)
            }
        }
        return text
    }

    private func append(_ cell: Cell, _ name: String, _ labels: Labels, to text: inout String) {
        switch cell {
        case .counter(let counter): Exposition.append(name, labels, Double(counter.value), to: &text)
        case .gauge(let gauge): Exposition.append(name, labels, gauge.value, to: &text)
        case .histogram(let histogram): Exposition.append(name, labels, histogram.values, bounds: histogram.bounds, to: &text)
        case .observed(let read): if let value = read() { Exposition.append(name, labels, value, to: &text) }
        }
    }

    private func refuse(_ name: String) {
        state.withLock { _ = $0.undescribed.insert(name) }
    }

    /// The cell of a series, made at the first request.
    private func cell(_ name: String, _ dimensions: [(String, String)], _ make: (MetricDescription.Kind) -> Cell?) -> Cell? {
        guard let description = descriptions[name], let new = make(description.kind) else {
            refuse(name)
            return nil
        }
        return state.withLock { state in
            let labels = Labels(dimensions)
            if let known = state.series[name]?[labels] { return known }
            state.series[name, default: [:]][labels] = new
            return new
        }
    }
}

extension MetricRegistry {
    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let made = cell(label, dimensions) { kind in kind == .counter ? Cell.counter(CounterCell()) : nil }
        guard case .counter(let counter)? = made else { return NOOPMetricsHandler.instance }
        return counter
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        gauge(label, dimensions) ?? NOOPMetricsHandler.instance
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        if aggregate { return histogram(label, dimensions) ?? NOOPMetricsHandler.instance }
        return gauge(label, dimensions) ?? NOOPMetricsHandler.instance
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions) ?? NOOPMetricsHandler.instance
    }

    private func gauge(_ label: String, _ dimensions: [(String, String)]) -> GaugeCell? {
        let made = cell(label, dimensions) { kind in kind == .gauge ? Cell.gauge(GaugeCell()) : nil }
        guard case .gauge(let gauge)? = made else { return nil }
        return gauge
    }

    private func histogram(_ label: String, _ dimensions: [(String, String)]) -> HistogramCell? {
        let made = cell(label, dimensions) { kind in
            guard case .histogram(let bounds) = kind else { return nil }
            return .histogram(HistogramCell(bounds: bounds))
        }
        guard case .histogram(let histogram)? = made else { return nil }
        return histogram
    }

    // A series stays exposed: a scrape without it would mean that the process has never counted.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}
