import Synchronization

/// Counts how often each fault took effect.
final class FaultTally: Sendable {
    private let state = Mutex<[Fault: Int]>([:])

    func count(_ fault: Fault, times: Int = 1) {
        guard times > 0 else { return }
        state.withLock { $0[fault, default: 0] += times }
    }

    var counts: [Fault: Int] { state.withLock { $0 } }

    /// The faults that the run has not tested.
    var missing: [Fault] { Fault.allCases.filter { counts[$0] == nil } }
}
