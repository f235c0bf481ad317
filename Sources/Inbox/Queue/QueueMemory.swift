import Synchronization

/// What the batches of one process learn from each other.
final class QueueMemory: Sendable {
    private struct State {
        var mark = LowWaterMark()
        var patience: Patience
        var suspectsAreDue = false
    }

    private let state: Mutex<State>

    init(patience: Patience) {
        state = Mutex(State(patience: patience))
    }

    /// Where a claim begins, and where a probe does that is to go with it.
    func nextClaim() -> (mark: QueuePosition, probe: QueuePosition?) {
        state.withLock { state in
            let probe = state.mark.probe(at: .now)
            return (state.mark.position, probe)
        }
    }

    func observe(_ probe: LowWaterMark.Probe) {
        state.withLock { $0.mark.observe(probe) }
    }

    /// The server may be another one from now on.
    func connectionWasLost() {
        state.withLock { $0.mark.forget() }
    }

    func bound(for events: Int) -> Duration {
        state.withLock { $0.patience.bound(for: events) }
    }

    func took(_ duration: Duration, events: Int) {
        state.withLock { $0.patience.took(duration, events: events) }
    }

    /// A batch was given up, and its events are about to be suspects.
    func gaveUp(after bound: Duration, events: Int) {
        state.withLock { state in
            state.patience.exceeded(bound, events: events)
            state.suspectsAreDue = true
        }
    }

    var suspectsAreDue: Bool {
        get { state.withLock(\.suspectsAreDue) }
        set { state.withLock { $0.suspectsAreDue = newValue } }
    }
}
