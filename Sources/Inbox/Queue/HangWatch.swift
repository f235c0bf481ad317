import Glibc
import Synchronization

/// Ends the process when something in it hangs: a computation that never ends keeps one of Swift's few threads, and once it keeps the last of
/// them, no timer fires and no other batch goes on. So the time is kept by a thread of its own.
final class HangWatch: Sendable {
    /// Something that must have ended by a time.
    private struct Matter {
        /// Counted down while the process runs: a machine that was stopped for a while must not be taken for one that hangs.
        var rounds: Int
        /// What is to be done, on the watch's thread, when it has not ended.
        let whenOver: @Sendable () -> Void
    }

    private struct State {
        var matters: [ClaimedBatch.Lane: Matter] = [:]
        var isRunning = false
    }

    private let state = Mutex(State())

    /// The process's own.
    static let shared = HangWatch()

    private static var pause: Duration { .milliseconds(100) }

    /// Expects the batch of a lane to end, or to name another time, within that time; forgets what was expected of it before.
    func expect(_ lane: ClaimedBatch.Lane, within time: Duration, orElse whenOver: @escaping @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            state.matters[lane] = Matter(rounds: Int(time / Self.pause) + 1, whenOver: whenOver)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if isFirst { start() }
    }

    /// The batch of a lane has ended.
    func settle(_ lane: ClaimedBatch.Lane) {
        _ = take(lane)
    }

    /// Waits for that time, in which the machine was not stopped, and up to a tenth of a second more.
    ///
    /// For bounds that are hardly ever reached, which each batch has: a timer of the system's stays until its time has come, also when
    /// nobody waits for it any more.
    func sleep(for time: Duration) async throws {
        let key = ClaimedBatch.Lane.random(in: .min ... .max)
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                expect(key, within: time) { waiter.resume() }
                // Cancelled before the handler could find it.
                if Task.isCancelled { take(key)?.whenOver() }
            }
        } onCancel: {
            take(key)?.whenOver()
        }
        try Task.checkCancellation()
    }

    private func take(_ lane: ClaimedBatch.Lane) -> Matter? {
        state.withLock { $0.matters.removeValue(forKey: lane) }
    }

    /// When the system has no thread left, the next batch asks again.
    private func start() {
        var thread = pthread_t()
        let status = pthread_create(
            &thread,
            nil,
            { context in
                guard let context else { return nil }
                Unmanaged<HangWatch>.fromOpaque(context).takeRetainedValue().run()
            },
            Unmanaged.passRetained(self).toOpaque()
        )
        if status == 0 {
            pthread_detach(thread)
        } else {
            Unmanaged.passUnretained(self).release()
            state.withLock { $0.isRunning = false }
        }
    }

    private func run() -> Never {
        while true {
            usleep(UInt32(Self.pause.wholeMilliseconds * 1000))
            for matter in takeOverdue() { matter.whenOver() }
        }
    }

    private func takeOverdue() -> [Matter] {
        state.withLock { state in
            for lane in state.matters.keys { state.matters[lane]?.rounds -= 1 }
            let overdue = state.matters.filter { $0.value.rounds <= 0 }
            for lane in overdue.keys { state.matters[lane] = nil }
            return Array(overdue.values)
        }
    }
}
