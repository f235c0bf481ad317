/// What a metric is called and what it means: the lines `# HELP` and `# TYPE` of the text format.
package struct MetricDescription: Hashable, Sendable {
    /// How a metric behaves.
    package enum Kind: Hashable, Sendable {
        /// Only grows, until the process ends. Its name ends in `_total`.
        case counter
        /// Goes up and down.
        case gauge
        /// Counts how often a value was within each bound; bounds ascend, and the one for all values is implied.
        case histogram(bounds: [Double])
    }

    /// The full name, with its unit and, for a counter, `_total`: `appstore_inbox_ingest_accepted_total`.
    package let name: String
    package let kind: Kind
    /// One sentence for people.
    package let help: String

    package init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }
}

extension MetricDescription.Kind {
    /// The word behind `# TYPE`.
    var word: String {
        switch self {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }
}
