import Metrics
import Synchronization

/// Counts values by bucket, and their sum. The lock, held for nanoseconds, makes each reading consistent.
final class HistogramCell: RecorderHandler, TimerHandler, Sendable {
    /// The recorded values.
    struct Values: Hashable, Sendable {
        /// Values in each bucket, not cumulative; the last bucket is for values above every bound.
        var counts: [UInt64]
        var sum: Double { whole + Double(nanoseconds) / 1e9 }
        /// The sum of plain values.
        fileprivate var whole = 0.0
        /// The exact sum of durations in nanoseconds. 64 bits hold 292 years, which ten thousand events requeued after a month exceed.
        fileprivate var nanoseconds: Int128 = 0
    }

    let bounds: [Double]
    private let boundsInNanoseconds: [Int64]
    private let state: Mutex<Values>

    init(bounds: [Double]) {
        self.bounds = bounds
        boundsInNanoseconds = bounds.map { Int64(($0 * 1e9).rounded()) }
        state = Mutex(Values(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    var values: Values { state.withLock(\.self) }

    func record(_ value: Int64) {
        record(Double(value))
    }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.whole += value
        }
    }

    func recordNanoseconds(_ duration: Int64) {
        let bucket = boundsInNanoseconds.firstIndex { duration <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.nanoseconds += Int128(duration)
        }
    }
}
