/// Figures of the same kind, one for each round or request.
package struct Samples: Hashable, Sendable {
    /// In ascending order.
    package let sorted: [Double]

    package init(_ values: [Double]) {
        sorted = values.sorted()
    }

    /// The median; 0 without values.
    package var median: Double {
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }

    /// The percentile by the nearest-rank method; 0 without values.
    package func percentile(_ percent: Double) -> Double {
        guard !sorted.isEmpty else { return 0 }
        let rank = Int((percent / 100 * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }
}
