import Synchronization

/// The places for calls of one kind: how many are free, and how the call fared that left one last.
final class Slots: Sendable {
    /// What whoever fills them should know.
    struct View {
        /// At least 1.
        let free: Int
        /// Whether the last call that left was settled, or could not be; nil when none has left since the last look.
        let lastWasSettled: Bool?
    }

    private struct State {
        var free: Int
        var lastWasSettled: Bool?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state: Mutex<State>

    init(_ count: Int) {
        state = Mutex(State(free: count))
    }

    /// Waits until one is free, which needs no cancellation: every call leaves in time. For one at a time.
    func look() async -> View {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.free == 0 { state.waiter = continuation }
                return state.free > 0
            }
            if isFree { continuation.resume() }
        }
        return state.withLock { state in
            defer { state.lastWasSettled = nil }
            return View(free: state.free, lastWasSettled: state.lastWasSettled)
        }
    }

    /// Takes one that was seen free.
    func take() { state.withLock { $0.free -= 1 } }

    func leave(settled: Bool) {
        let waiter = state.withLock { state in
            state.free += 1
            state.lastWasSettled = settled
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}
