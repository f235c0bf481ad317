import Synchronization

/// Who of a worker's loops looks for events.
///
/// A batch costs the database much the same whether it has one event or thirty, so that as few loops are at work as get along: while batches
/// are small, one after the other is taken, and another loop stands by to help should one take long. A full batch says that more is waiting,
/// and has all loops look. While there is nothing, one polls and the others sleep.
final class Rota: Sendable {
    private let state = Mutex(RotaState<CheckedContinuation<Void, Never>>())

    /// A loop took a batch, and will be busy with it; wakes those that are to look for more, or to stand by.
    func took(_ loop: Int, isFull: Bool) {
        for waiter in state.withLock({ $0.took(loop, isFull: isFull) }) { waiter.resume() }
    }

    /// A loop has settled its batch.
    func settled(_ loop: Int, isFull: Bool) -> RotaTurn {
        state.withLock { $0.settled(loop, isFull: isFull) }
    }

    /// A loop has found nothing.
    func foundNothing(_ loop: Int) -> RotaTurn {
        state.withLock { $0.foundNothing(loop) }
    }

    /// A loop could not take a batch, or has lost it.
    func failed(_ loop: Int) {
        state.withLock { $0.failed(loop) }
    }

    /// Stands by until it is needed, at least for that time.
    func standBy(_ loop: Int, for time: Duration) async -> RotaTurn {
        let batches = state.withLock(\.batches)
        do {
            try await Task.sleep(for: time)
        } catch {
            // Cut short by the shutdown.
        }
        return state.withLock { $0.stoodBy(loop, since: batches) }
    }

    /// Sleeps until another loop needs help, the time is over, or the task is cancelled.
    func sleep(_ loop: Int, atMost limit: Duration) async -> RotaTurn {
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
        return state.withLock { $0.standsBy == loop } ? .standBy : .look
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

/// What a loop is to do next.
enum RotaTurn: Sendable {
    /// Look for events at once.
    case look
    /// Rest a little, then look; longer each time.
    case poll
    case standBy
    case sleep
}

/// What the rota knows, as a value: what calls others returns who is to be woken once the lock is released.
struct RotaState<Waiter: Sendable>: Sendable {
    private enum Sleeper: Sendable {
        /// About to sleep; a call keeps it from doing so. Can transition to: asleep.
        case drowsy
        case asleep(Waiter)
    }

    /// Who polls.
    private(set) var onDuty: Int?
    private(set) var standsBy: Int?
    /// How many batches have been taken.
    private(set) var batches = 0
    private var lastWasFull = false
    private var atWork: Set<Int> = []
    private var sleepers: [Int: Sleeper] = [:]

    mutating func took(_ loop: Int, isFull: Bool) -> [Waiter] {
        leavePosts(loop)
        sleepers[loop] = nil
        atWork.insert(loop)
        batches += 1
        lastWasFull = isFull
        if isFull { return sleepers.keys.sorted().compactMap { withdraw($0) } }
        guard onDuty == nil, standsBy == nil, let helper = sleepers.keys.min() else { return [] }
        standsBy = helper
        return [withdraw(helper)].compactMap(\.self)
    }

    mutating func settled(_ loop: Int, isFull: Bool) -> RotaTurn {
        atWork.remove(loop)
        guard !isFull, !atWork.isEmpty else { return .look }
        guard standsBy == nil else { return lieDown(loop) }
        standsBy = loop
        return .standBy
    }

    mutating func foundNothing(_ loop: Int) -> RotaTurn {
        atWork.remove(loop)
        if onDuty == nil { onDuty = loop }
        return onDuty == loop ? .poll : lieDown(loop)
    }

    mutating func failed(_ loop: Int) {
        atWork.remove(loop)
    }

    /// A loop has stood by since that many batches had been taken: it is needed when no other was taken meanwhile, or there is more than the
    /// others can do.
    mutating func stoodBy(_ loop: Int, since batches: Int) -> RotaTurn {
        guard standsBy == loop else { return .look }
        if onDuty != nil { return lieDown(loop) }
        guard lastWasFull || batches == self.batches else { return .standBy }
        standsBy = nil
        return .look
    }

    /// Returns whether the loop may sleep; not if it has been called since it was told to.
    mutating func sleep(_ loop: Int, _ waiter: Waiter) -> Bool {
        guard sleepers[loop] != nil else { return false }
        sleepers[loop] = .asleep(waiter)
        return true
    }

    mutating func withdraw(_ loop: Int) -> Waiter? {
        guard case .asleep(let waiter)? = sleepers.removeValue(forKey: loop) else { return nil }
        return waiter
    }

    private mutating func lieDown(_ loop: Int) -> RotaTurn {
        leavePosts(loop)
        sleepers[loop] = .drowsy
        return .sleep
    }

    private mutating func leavePosts(_ loop: Int) {
        if onDuty == loop { onDuty = nil }
        if standsBy == loop { standsBy = nil }
    }
}
