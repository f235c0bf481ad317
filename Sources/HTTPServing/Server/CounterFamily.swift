package import Metrics
import Synchronization

/// Counters of one name, each made when its labels come up for the first time. Their values must come from this program, never from a
/// request: each set of them stays in memory.
package final class CounterFamily: Sendable {
    private let label: String
    private let factory: any MetricsFactory
    private let counters = Mutex<[[String]: Counter]>([:])

    package init(label: String, factory: any MetricsFactory) {
        self.label = label
        self.factory = factory
    }

    /// Counts one with these labels, whose names are the same at each call.
    package func increment(_ dimensions: [(String, String)]) {
        counter(dimensions).increment()
    }

    private func counter(_ dimensions: [(String, String)]) -> Counter {
        counters.withLock { counters in
            let key = dimensions.map(\.1)
            if let known = counters[key] { return known }
            let counter = Counter(label: label, dimensions: dimensions, factory: factory)
            counters[key] = counter
            return counter
        }
    }
}
