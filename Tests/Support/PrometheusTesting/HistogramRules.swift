/// Checks the samples of a histogram for consistency.
enum HistogramRules {
    static func check(_ name: String, _ family: ExposedMetrics.Family) throws {
        let series = Dictionary(grouping: family.samples) { $0.labels.filter { $0.key != "le" } }
        for (labels, samples) in series {
            let buckets = samples.filter { $0.name == name + "_bucket" }
            let bounds = try buckets.map { try LineScanner.number($0.labels["le"] ?? "") }
            guard bounds == bounds.sorted(), bounds.last == .infinity else { throw MalformedLine("buckets out of order: \(labels)") }
            let counts = buckets.map(\.value)
            guard counts == counts.sorted() else { throw MalformedLine("buckets do not include those below: \(labels)") }
            guard let count = samples.first(where: { $0.name == name + "_count" && $0.labels == labels }), count.value == counts.last else {
                throw MalformedLine("the count is not that of the last bucket: \(labels)")
            }
            guard samples.contains(where: { $0.name == name + "_sum" && $0.labels == labels }) else {
                throw MalformedLine("no sum: \(labels)")
            }
        }
    }
}
