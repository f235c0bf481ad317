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

/// The name, kind and meaning of a metric: its lines `# HELP` and `# TYPE` in the text format.
package struct MetricDescription: Hashable, Sendable {
    /// The metric's type.
    package enum Kind: Hashable, Sendable {
        /// Only grows, until the process ends. Its name ends in `_total`.
        case counter
        /// Goes up and down.
        case gauge
        /// Counts values within each bound. Bounds ascend; the bound +Inf is implied.
        case histogram(bounds: [Double])
    }

    /// The full name, with its unit and, for a counter, `_total`: `appstore_inbox_ingest_accepted_total`.
    package let name: String
    package let kind: Kind
    /// The help text: one sentence.
    package let help: String

    package init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }
}

extension MetricDescription.Kind {
    /// The type's name after `# TYPE`.
    fileprivate var word: String {
        switch self {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }
}

/// The labels of one series, sorted by name.
private struct Labels: Hashable, Sendable {
    struct Label: Hashable, Sendable {
        let name: String
        let value: String
    }

    let all: [Label]

    init(_ dimensions: [(String, String)]) {
        all = dimensions.map { Label(name: $0.0, value: $0.1) }.sorted { $0.name < $1.name }
    }
}

extension Labels: Comparable {
    static func < (left: Labels, right: Labels) -> Bool {
        left.all.lexicographicallyPrecedes(right.all) { ($0.name, $0.value) < ($1.name, $1.value) }
    }
}

/// A sum that only grows.
private final class CounterCell: CounterHandler, Sendable {
    private let sum = Atomic<Int64>(0)

    var value: Int64 { sum.load(ordering: .relaxed) }

    func increment(by amount: Int64) {
        // Prometheus takes a counter that falls for a restarted process.
        guard amount > 0 else { return }
        sum.wrappingAdd(amount, ordering: .relaxed)
    }

    func reset() {
        sum.store(0, ordering: .relaxed)
    }
}

/// A value that goes up and down.
private final class GaugeCell: MeterHandler, RecorderHandler, Sendable {
    private let current = Mutex(0.0)

    var value: Double { current.withLock(\.self) }

    func set(_ value: Int64) {
        set(Double(value))
    }

    func set(_ value: Double) {
        current.withLock { $0 = value }
    }

    func increment(by amount: Double) {
        current.withLock { $0 += amount }
    }

    func decrement(by amount: Double) {
        increment(by: -amount)
    }

    func record(_ value: Int64) {
        set(value)
    }

    func record(_ value: Double) {
        set(value)
    }
}

/// Counts values by bucket, and their sum. The lock, held for nanoseconds, makes each reading consistent.
private final class HistogramCell: RecorderHandler, TimerHandler, Sendable {
    /// The recorded values.
    struct Values: Hashable, Sendable {
        /// Values in each bucket, not cumulative; the last bucket is for values above every bound.
        var counts: [UInt64]
        var sum: Double { whole + Double(nanoseconds) / 1e9 }
        /// The sum of plain values.
        fileprivate var whole = 0.0
        /// The exact sum of durations in nanoseconds. 64 bits hold 292 years, which ten thousand events requeued after a month exceed.
        fileprivate var nanoseconds: Int128 = 0
    }

    let bounds: [Double]
    private let boundsInNanoseconds: [Int64]
    private let state: Mutex<Values>

    init(bounds: [Double]) {
        self.bounds = bounds
        boundsInNanoseconds = bounds.map { Int64(($0 * 1e9).rounded()) }
        state = Mutex(Values(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    var values: Values { state.withLock(\.self) }

    func record(_ value: Int64) {
        record(Double(value))
    }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.whole += value
        }
    }

    func recordNanoseconds(_ duration: Int64) {
        let bucket = boundsInNanoseconds.firstIndex { duration <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.nanoseconds += Int128(duration)
        }
    }
}

/// Prometheus' text format 0.0.4.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
package enum Exposition {
    /// The media type of this format.
    package static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    /// Appends the two lines before the series of a metric.
    fileprivate static func append(_ description: MetricDescription, to text: inout String) {
        text += "# HELP \(description.name) \(escaped(description.help, quotes: false))\n"
        text += "# TYPE \(description.name) \(description.kind.word)\n"
    }

    /// Appends one sample.
    fileprivate static func append(_ name: String, _ labels: Labels, _ value: Double, to text: inout String) {
        append(name, labels, value, bound: nil, to: &text)
    }

    /// Appends the samples of a histogram: cumulative buckets, sum and count.
    fileprivate static func append(
        _ name: String,
        _ labels: Labels,
        _ values: HistogramCell.Values,
        bounds: [Double],
        to text: inout String
    ) {
        var count: UInt64 = 0
        for (bound, values) in zip(bounds + [.infinity], values.counts) {
            count += values
            append(name + "_bucket", labels, Double(count), bound: bound, to: &text)
        }
        append(name + "_sum", labels, values.sum, to: &text)
        append(name + "_count", labels, Double(count), to: &text)
    }

    private static func append(_ name: String, _ labels: Labels, _ value: Double, bound: Double?, to text: inout String) {
        var pairs = labels.all.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }
        if let bound { pairs.append("le=\"\(number(bound))\"") }
        text += name
        if !pairs.isEmpty { text += "{" + pairs.joined(separator: ",") + "}" }
        text += " \(number(value))\n"
    }

    /// The text with backslash and line feed escaped, and the quotation mark in label values.
    static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// A number as Go's ParseFloat reads it; whole numbers without a fraction.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 { return "\(whole)" }
        return "\(value)"
    }
}
