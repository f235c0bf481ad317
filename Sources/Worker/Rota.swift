import Synchronization

/// Who of a worker's loops looks for work while there is none: one of them polls, the others sleep until there is more than one can do.
final class Rota: Sendable {
    private let state = Mutex(RotaState<CheckedContinuation<Void, Never>>())

    /// Whether the loop that found nothing is the one that polls; then it rests for a short while and looks again. Otherwise it sleeps.
    func isOnDuty(_ loop: Int) -> Bool {
        state.withLock { $0.rest(loop) }
    }

    /// Sleeps until another loop needs help, the time is over, or the task is cancelled.
    func sleep(_ loop: Int, atMost limit: Duration) async {
        await withTaskGroup { group in
            group.addTask { await self.awaitCall(loop) }
            group.addTask {
                do {
                    try await Task.sleep(for: limit)
                } catch {
                    // Called, or cut short by the shutdown.
                }
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// A loop found work, and will be busy with it; wakes those that are to look for more.
    func worked(_ loop: Int, isFull: Bool) {
        for waiter in state.withLock({ $0.worked(loop, isFull: isFull) }) { waiter.resume() }
    }

    private func awaitCall(_ loop: Int) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                if !state.withLock({ $0.sleep(loop, waiter) }) { waiter.resume() }
                // Cancelled before the handler could find the waiter.
                if Task.isCancelled { state.withLock { $0.withdraw(loop) }?.resume() }
            }
        } onCancel: {
            state.withLock { $0.withdraw(loop) }?.resume()
        }
    }
}

/// What the rota knows, as a value: each change returns who is to be woken once the lock is released.
struct RotaState<Waiter: Sendable>: Sendable {
    private enum Sleeper: Sendable {
        /// About to sleep; a call keeps it from doing so. Can transition to: asleep.
        case drowsy
        case asleep(Waiter)
    }

    private(set) var onDuty: Int?
    private var sleepers: [Int: Sleeper] = [:]

    /// A loop found nothing; returns whether it is to poll.
    mutating func rest(_ loop: Int) -> Bool {
        if onDuty == nil { onDuty = loop }
        if onDuty == loop { return true }
        sleepers[loop] = .drowsy
        return false
    }

    /// Returns whether the loop may sleep; not if it has been called since it found nothing.
    mutating func sleep(_ loop: Int, _ waiter: Waiter) -> Bool {
        guard sleepers[loop] != nil else { return false }
        sleepers[loop] = .asleep(waiter)
        return true
    }

    mutating func withdraw(_ loop: Int) -> Waiter? {
        guard case .asleep(let waiter)? = sleepers.removeValue(forKey: loop) else { return nil }
        return waiter
    }

    /// A loop found work: when there was more than it could take, all others are called; otherwise one, to look on in its place.
    mutating func worked(_ loop: Int, isFull: Bool) -> [Waiter] {
        sleepers[loop] = nil
        if onDuty == loop { onDuty = nil }
        let called = isFull ? Array(sleepers.keys) : onDuty == nil ? Array(sleepers.keys.sorted().prefix(1)) : []
        return called.compactMap { withdraw($0) }
    }
}
