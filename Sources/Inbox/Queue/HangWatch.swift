import Glibc
import Synchronization

/// Ends the process when something in it hangs: a computation that never ends keeps one of Swift's few threads, and once it keeps the last of
/// them, no timer fires and no other batch goes on. So the time is kept by a thread of its own.
final class HangWatch: Sendable {
    /// Something that must have ended by a time.
    private struct Matter {
        /// Counted down while the process runs: a machine that was stopped for a while must not be taken for one that hangs.
        var rounds: Int
        var steps: Steps?
        /// What is to be done, on the watch's thread, when it has not ended.
        let whenOver: @Sendable () -> Void

        /// A round has passed.
        ///
        /// - Parameter isSwiftFree: whether a thread took up a task in it; where none did, it may be waiting for one.
        mutating func countDown(isSwiftFree: Bool) {
            guard let steps else { return rounds -= 1 }
            let taken = steps.taken()
            rounds = taken != nil && taken == steps.seen ? rounds - (isSwiftFree ? 2 : 1) : steps.patience
            self.steps?.seen = taken
        }
    }

    /// What has to go on, not to end.
    private struct Steps {
        /// How many rounds a step may take, each counted twice.
        let patience: Int
        /// How many have been taken; nil while somebody else is at work, who has a time of his own.
        let taken: @Sendable () -> Int?
        var seen: Int?
    }

    private struct State {
        var matters: [ClaimedBatch.Lane: Matter] = [:]
        var isRunning = false
    }

    private let state = Mutex(State())
    /// Whether the latest task that was begun to see whether any is taken up has run.
    private let hasBeatTaken = Atomic(true)

    /// The process's own.
    static let shared = HangWatch()

    private static var pause: Duration { .milliseconds(100) }

    /// Expects the batch of a lane to end, or to name another time, within that time; forgets what was expected of it before.
    func expect(_ lane: ClaimedBatch.Lane, within time: Duration, orElse whenOver: @escaping @Sendable () -> Void) {
        expect(lane, Matter(rounds: Self.rounds(in: time), whenOver: whenOver))
    }

    /// Expects the batch of a lane to take a step within that time after each that it has taken, or after somebody else's work, until it ends or
    /// names another time. It has up to twice that time where all of Swift's threads are kept, for it may be waiting for one.
    ///
    /// - Parameter steps: how many it has taken, or nil while somebody else is at work; called on the watch's thread, which it must not hold up.
    func expectSteps(
        of lane: ClaimedBatch.Lane,
        within time: Duration,
        _ steps: @escaping @Sendable () -> Int?,
        orElse whenOver: @escaping @Sendable () -> Void
    ) {
        let patience = Self.rounds(in: time) * 2
        expect(lane, Matter(rounds: patience, steps: Steps(patience: patience, taken: steps), whenOver: whenOver))
    }

    private static func rounds(in time: Duration) -> Int { Int(time / pause) + 1 }

    private func expect(_ lane: ClaimedBatch.Lane, _ matter: Matter) {
        let isFirst = state.withLock { state in
            state.matters[lane] = matter
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
    /// no task waits for it any more.
    func sleep(for time: Duration) async throws {
        try await wait { key, wake in expect(key, within: time, orElse: wake) }
    }

    /// Waits until no step has been taken for that time, as ``expectSteps(of:within:_:orElse:)`` counts them.
    func awaitStandstill(of time: Duration, _ steps: @escaping @Sendable () -> Int?) async throws {
        try await wait { key, wake in expectSteps(of: key, within: time, steps, orElse: wake) }
    }

    /// - Parameter arm: has the second called under the key that is the first.
    private func wait(_ arm: (ClaimedBatch.Lane, @escaping @Sendable () -> Void) -> Void) async throws {
        let key = ClaimedBatch.Lane.random(in: .min ... .max)
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                arm(key) { waiter.resume() }
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
            guard state.withLock({ !$0.matters.isEmpty }) else { continue }
            // No task waits for this one, and there is at most one of it: it only shows that Swift's threads run.
            let isSwiftFree = hasBeatTaken.exchange(false, ordering: .relaxed)
            if isSwiftFree { Task.detached { self.hasBeatTaken.store(true, ordering: .relaxed) } }
            for matter in takeOverdue(isSwiftFree: isSwiftFree) { matter.whenOver() }
        }
    }

    private func takeOverdue(isSwiftFree: Bool) -> [Matter] {
        state.withLock { state in
            for lane in state.matters.keys { state.matters[lane]?.countDown(isSwiftFree: isSwiftFree) }
            let overdue = state.matters.filter { $0.value.rounds <= 0 }
            for lane in overdue.keys { state.matters[lane] = nil }
            return Array(overdue.values)
        }
    }
}
