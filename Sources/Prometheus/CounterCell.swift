import Metrics
import Synchronization

/// A sum that only grows.
final class CounterCell: CounterHandler, Sendable {
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
