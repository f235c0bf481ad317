import Metrics
import Synchronization

/// A value that goes up and down.
final class GaugeCell: MeterHandler, RecorderHandler, Sendable {
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
