import Metrics
import Synchronization

/// How often a value was within each bound, how many there were, and their sum.
///
/// The lock makes one reading consistent; it is held for a few nanoseconds.
final class HistogramCell: RecorderHandler, TimerHandler, Sendable {
    /// What a histogram has seen.
    struct Values: Hashable, Sendable {
        /// Values in each bucket alone, not in those below; the last is for what exceeds every bound.
        var counts: [UInt64]
        var sum: Double { whole + Double(nanoseconds) / 1e9 }
        /// The sum of plain values.
        fileprivate var whole = 0.0
        /// The sum of durations: whole nanoseconds, so that nothing is lost however many there are. 64 bits would hold 292 years,
        /// less than ten thousand events have waited together that are requeued after a month.
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
