package import Metrics
import Synchronization

/// Counters with one name, each created at the first use of its labels. Label values must never come from a request: each set of labels
/// stays in memory.
package final class CounterFamily: Sendable {
    private let label: String
    private let factory: any MetricsFactory
    private let counters = Mutex<[[String]: Counter]>([:])

    package init(label: String, factory: any MetricsFactory) {
        self.label = label
        self.factory = factory
    }

    /// Increments the counter with these labels. The label names must be the same in each call.
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
