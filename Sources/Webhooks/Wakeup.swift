import NIOCore
import NIOPosix
import Synchronization

/// Wakes one waiting task. A signal without a waiter is kept for the next one.
final class Wakeup: Sendable {
    private struct State {
        var isSignalled = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func signal() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            state.isSignalled = state.waiter == nil
            return state.waiter
        }
        waiter?.resume()
    }

    /// Waits for a signal, at most until then.
    func wait(until instant: ContinuousClock.Instant) async {
        // A timer of an event loop leaves nothing behind when it is cancelled, and is precise.
        let timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: TimeAmount(instant - .now)) { self.signal() }
        await withCheckedContinuation { continuation in
            let isSignalled = state.withLock { state in
                defer { state.isSignalled = false }
                if !state.isSignalled { state.waiter = continuation }
                return state.isSignalled
            }
            if isSignalled { continuation.resume() }
        }
        timer.cancel()
    }
}
