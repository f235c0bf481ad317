import Synchronization

/// A semaphore for calls of one kind. It also remembers whether the last finished call could be settled.
final class CallSlots: Sendable {
    struct View {
        /// At least 1.
        let free: Int
        /// Whether the last finished call could be settled; nil when none has finished since the last view.
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

    /// Waits for a free slot. Cancellation is not needed, because every call ends in time. Supports one waiter at a time.
    func waitForFreeSlot() async -> View {
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

    /// Takes a slot that ``waitForFreeSlot()`` has reported free.
    func acquire() { state.withLock { $0.free -= 1 } }

    func release(settled: Bool) {
        let waiter = state.withLock { state in
            state.free += 1
            state.lastWasSettled = settled
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}
