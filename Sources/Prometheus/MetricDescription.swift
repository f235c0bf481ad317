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
    var word: String {
        switch self {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }
}
