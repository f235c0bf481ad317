import Synchronization

/// Decides which of a worker's loops takes events (the Leader/Followers pattern).
///
/// The leader polls and takes batches. It gives up the lead as soon as a claim says that more is waiting, or when a small batch takes long;
/// then a follower becomes the leader. So one loop works while batches are small, which costs the database least, and all do in a backlog.
final class LeaderFollowers: Sendable {
    private struct State {
        var isLed = false
        var followers: [(id: Int, waiter: CheckedContinuation<Bool, Never>)] = []
        var nextID = 0
    }

    private let state = Mutex(State())

    /// Waits until no other loop leads; nil when the task was cancelled meanwhile.
    func becomeLeader() async -> Lead? {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
        let leads = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let answer = state.withLock { state -> Bool? in
                    if Task.isCancelled { return false }
                    if state.isLed {
                        state.followers.append((id, waiter))
                        return nil
                    }
                    state.isLed = true
                    return true
                }
                if let answer { waiter.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.followers.firstIndex { $0.id == id }.map { state.followers.remove(at: $0).waiter }
            }
            waiter?.resume(returning: false)
        }
        return leads ? Lead(of: self) : nil
    }

    /// How many loops wait.
    var followers: Int { state.withLock(\.followers.count) }

    fileprivate func promoteFollower() {
        let next = state.withLock { state in
            state.isLed = !state.followers.isEmpty
            return state.followers.isEmpty ? nil : state.followers.removeFirst().waiter
        }
        next?.resume(returning: true)
    }
}

/// The right to take events. To be released once; every further release does nothing.
final class Lead: Sendable {
    private let loops: LeaderFollowers
    private let isReleased = Atomic(false)
    private let claimed = Atomic(false)

    fileprivate init(of loops: LeaderFollowers) {
        self.loops = loops
    }

    var isHeld: Bool { !isReleased.load(ordering: .acquiring) }

    /// Whether the leader has claimed a batch since its last ``begin()``.
    var hasClaimed: Bool { claimed.load(ordering: .acquiring) }

    /// The leader begins to take a batch.
    func begin() { claimed.store(false, ordering: .releasing) }

    /// The leader has claimed a batch. A full one says that more is waiting.
    func claimed(isFull: Bool) {
        claimed.store(true, ordering: .releasing)
        if isFull { release() }
    }

    func release() {
        if !isReleased.exchange(true, ordering: .acquiringAndReleasing) { loops.promoteFollower() }
    }
}
