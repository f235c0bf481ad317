import Synchronization

/// Lets a process run many batches side by side, or one suspect all by itself: if the process dies then, there is no doubt whose fault it was.
final class SoloGate: Sendable {
    private typealias State = SoloGateState<CheckedContinuation<Void, Never>>

    private let state = Mutex(State())

    /// The stay of one batch.
    final class Stay: Sendable {
        /// Whether nothing else is going on in the process, not even what was given up and has not ended.
        let isUndisturbed: Bool
        private let gate: SoloGate
        private let isGivenUp = Atomic(false)

        fileprivate init(_ gate: SoloGate, isUndisturbed: Bool) {
            self.gate = gate
            self.isUndisturbed = isUndisturbed
        }

        /// Gives the batch up, so that others need not wait until it has ended, which it may never do. Nobody new is let in before `body`,
        /// which says what becomes of its events, is through.
        nonisolated(nonsending) func giveUp(_ body: () async -> Void) async {
            let keepsOthersOut = gate.state.withLock { $0.reserve() }
            await body()
            if keepsOthersOut { gate.change { $0.cancelReservation() } }
            guard !isGivenUp.exchange(true, ordering: .relaxed) else { return }
            gate.change { $0.giveUp() }
        }

        fileprivate func end() {
            let wasGivenUp = isGivenUp.load(ordering: .relaxed)
            gate.change { wasGivenUp ? $0.endGivenUp() : $0.leave() }
        }
    }

    /// Runs `body` beside other batches, once no suspect runs or waits to.
    nonisolated(nonsending) func together<T: Sendable>(_ body: (Stay) async throws -> T) async rethrows -> T {
        await withCheckedContinuation { waiter in
            if state.withLock({ $0.enter(waiter) }) { waiter.resume() }
        }
        let stay = Stay(self, isUndisturbed: false)
        defer { stay.end() }
        return try await body(stay)
    }

    /// Runs `body` while no other batch runs, after those under way; returns nil, at once, if another suspect does or is about to.
    nonisolated(nonsending) func alone<T: Sendable>(_ body: (Stay) async throws -> T) async rethrows -> T? {
        guard state.withLock({ $0.reserve() }) else { return nil }
        await withCheckedContinuation { waiter in
            if state.withLock({ $0.enterAlone(waiter) }) { waiter.resume() }
        }
        let stay = Stay(self, isUndisturbed: state.withLock(\.givenUp) == 0)
        defer { stay.end() }
        return try await body(stay)
    }

    private func change(_ change: (inout State) -> [CheckedContinuation<Void, Never>]) {
        for waiter in state.withLock({ change(&$0) }) { waiter.resume() }
    }
}

/// What the gate knows, as a value: each change returns who is to be let in once the lock is released.
struct SoloGateState<Waiter: Sendable>: Sendable {
    private enum Solo: Sendable {
        /// Can transition to: reserved.
        case none
        /// Somebody is about to ask; nobody new is let in. Can transition to: none, waiting, running.
        case reserved
        /// Can transition to: running.
        case waiting(Waiter)
        /// Can transition to: none.
        case running
    }

    private(set) var running = 0
    /// Batches that have left before their end.
    private(set) var givenUp = 0
    private var solo = Solo.none
    private var line: [Waiter] = []

    /// Returns whether the waiter is in; otherwise it is kept.
    mutating func enter(_ waiter: Waiter) -> Bool {
        guard case .none = solo else {
            line.append(waiter)
            return false
        }
        running += 1
        return true
    }

    /// Keeps newcomers out on behalf of who asks; false if somebody else does already.
    mutating func reserve() -> Bool {
        guard case .none = solo else { return false }
        solo = .reserved
        return true
    }

    /// Whoever reserved does not come; returns who comes in instead.
    mutating func cancelReservation() -> [Waiter] {
        solo = .none
        return admitLine()
    }

    private mutating func admitLine() -> [Waiter] {
        running += line.count
        defer { line.removeAll() }
        return line
    }

    /// Returns whether the waiter, who has reserved, is in by himself; otherwise he is kept.
    mutating func enterAlone(_ waiter: Waiter) -> Bool {
        solo = running == 0 ? .running : .waiting(waiter)
        return running == 0
    }

    /// Somebody who was in has left; returns who comes in.
    mutating func leave() -> [Waiter] {
        switch solo {
        case .running:
            solo = .none
            return admitLine()
        case .waiting(let waiter):
            running -= 1
            guard running == 0 else { return [] }
            solo = .running
            return [waiter]
        case .none, .reserved:
            running -= 1
            return []
        }
    }

    /// Somebody who was in is not to be waited for any more; returns who comes in.
    mutating func giveUp() -> [Waiter] {
        givenUp += 1
        return leave()
    }

    /// What was given up has ended after all.
    mutating func endGivenUp() -> [Waiter] {
        givenUp -= 1
        return []
    }
}
