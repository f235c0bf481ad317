/// The metrics of a body in Prometheus' text format, parsed strictly: violations that a lenient scraper ignores are errors.
package struct ExposedMetrics {
    /// One metric with its series.
    package struct Family: Equatable {
        package var help: String
        package var type: String
        package var samples: [Sample] = []
    }

    /// One line with a value.
    package struct Sample: Equatable {
        /// With the suffix `_bucket`, `_sum` or `_count` of a histogram's samples.
        package let name: String
        package let labels: [String: String]
        package let value: Double
    }

    package private(set) var families: [String: Family] = [:]
    /// The names in the order of the text.
    package private(set) var names: [String] = []

    /// - Throws: ``Complaint`` with the invalid line.
    package init(_ text: String) throws {
        guard text.utf8.last == 0x0A else { throw Complaint(line: "the last line", what: "has no line feed") }
        for line in text.unicodeScalars.dropLast().split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            do {
                try read(line)
            } catch let error as MalformedLine {
                throw Complaint(line: line, what: error.what)
            }
        }
        for (name, family) in families where family.type == "histogram" {
            do {
                try HistogramRules.check(name, family)
            } catch let error as MalformedLine {
                throw Complaint(line: name, what: error.what)
            }
        }
    }

    /// The value of a series of a counter or a gauge; nil when there is none.
    package func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        families[name]?.samples.first { $0.name == name && $0.labels == labels }?.value
    }

    /// The number of values of a histogram.
    package func count(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        families[name]?.samples.first { $0.name == name + "_count" && $0.labels == labels }?.value
    }

    /// The sum of the values of a histogram.
    package func sum(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        families[name]?.samples.first { $0.name == name + "_sum" && $0.labels == labels }?.value
    }

    private mutating func read(_ line: String) throws {
        var scanner = LineScanner(line)
        if line.hasPrefix("# HELP ") {
            try scanner.skip("# HELP ")
            let name = try scanner.name()
            try scanner.skip(" ")
            guard families[name] == nil else { throw MalformedLine("the metric stands there twice") }
            families[name] = Family(help: try scanner.rest(), type: "")
            names.append(name)
        } else if line.hasPrefix("# TYPE ") {
            try scanner.skip("# TYPE ")
            let name = try scanner.name()
            try scanner.skip(" ")
            let type = try scanner.rest()
            guard ["counter", "gauge", "histogram"].contains(type) else { throw MalformedLine("no type") }
            guard name == names.last, families[name]?.type == "" else { throw MalformedLine("the type does not follow its HELP") }
            families[name]?.type = type
        } else {
            try readSample(&scanner)
        }
    }

    private mutating func readSample(_ scanner: inout LineScanner) throws {
        let name = try scanner.name()
        let labels = try scanner.labels()
        try scanner.skip(" ")
        let text = try scanner.rest()
        guard let family = names.last, let type = families[family]?.type, type != "" else {
            throw MalformedLine("a sample before its TYPE")
        }
        let endings = type == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
        guard endings.contains(where: { family + $0 == name }) else { throw MalformedLine("a sample of another metric") }
        let sample = Sample(name: name, labels: labels, value: try LineScanner.number(text))
        guard families[family]?.samples.contains(where: { $0.name == name && $0.labels == labels }) == false else {
            throw MalformedLine("the series stands there twice")
        }
        families[family]?.samples.append(sample)
    }

    /// Why a text is invalid.
    package struct Complaint: Error, Equatable {
        package let line: String
        package let what: String
    }
}

/// Why a line is invalid.
struct MalformedLine: Error {
    let what: String

    init(_ what: String) {
        self.what = what
    }
}
