/// Prometheus' text format 0.0.4.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
package enum Exposition {
    /// The media type of this format.
    package static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    /// Appends the two lines before the series of a metric.
    static func append(_ description: MetricDescription, to text: inout String) {
        text += "# HELP \(description.name) \(escaped(description.help, quotes: false))\n"
        text += "# TYPE \(description.name) \(description.kind.word)\n"
    }

    /// Appends one sample.
    static func append(_ name: String, _ labels: Labels, _ value: Double, to text: inout String) {
        append(name, labels, value, bound: nil, to: &text)
    }

    /// Appends the samples of a histogram: cumulative buckets, sum and count.
    static func append(_ name: String, _ labels: Labels, _ values: HistogramCell.Values, bounds: [Double], to text: inout String) {
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
