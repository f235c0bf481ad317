import Glibc
import Synchronization

/// Lets a process run many batches side by side, or one suspect all by itself: if the process dies then, there is no doubt whose fault it was.
final class SoloGate: Sendable {
    /// Resumed with whether it is in.
    private typealias State = SoloGateState<CheckedContinuation<Bool, Never>>

    private let state = Mutex(State())
    private let patience: Duration

    /// - Parameter patience: how long a suspect waits for the batches under way to end.
    init(patience: Duration) {
        self.patience = patience
    }

    /// The stay of one batch.
    final class Stay: Sendable {
        private let gate: SoloGate
        private let isGivenUp = Atomic(false)

        fileprivate init(_ gate: SoloGate) {
            self.gate = gate
        }

        /// Others need not wait until it has ended, which it may never do.
        func giveUp() {
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
        _ = await withCheckedContinuation { waiter in
            if state.withLock({ $0.enter(waiter) }) { waiter.resume(returning: true) }
        }
        let stay = Stay(self)
        defer { stay.end() }
        return try await body(stay)
    }

    /// Runs `body` while no other batch runs, after those under way; returns nil, at once, if another suspect does or is about to, or if what was
    /// given up has not ended.
    ///
    /// - Parameter whenTooBusy: called, before nil is returned, if those under way do not end in time.
    nonisolated(nonsending) func alone<T: Sendable>(
        _ body: (Stay) async throws -> T,
        whenTooBusy: () -> Void = {}
    ) async rethrows -> T? {
        guard state.withLock({ $0.givenUp == 0 && $0.reserve() }) else { return nil }
        guard await awaitSolitude() else {
            whenTooBusy()
            return nil
        }
        let stay = Stay(self)
        defer { stay.end() }
        // Something may have been given up meanwhile.
        guard state.withLock(\.givenUp) == 0 else { return nil }
        return try await body(stay)
    }

    /// Lets nobody in any more, and waits on the caller's thread until those inside have left, but not for long.
    func closeForGood() {
        var rounds = 0
        while state.withLock({ $0.close() }) > 0, rounds < 100 {
            usleep(10_000)
            rounds += 1
        }
    }

    private func awaitSolitude() async -> Bool {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    try await Task.sleep(for: self.patience)
                } catch {
                    // The wait is over, or whoever waits is to end.
                }
                self.withdraw()
            }
            let isIn = await withCheckedContinuation { waiter in
                if state.withLock({ $0.enterAlone(waiter) }) { waiter.resume(returning: true) }
            }
            group.cancelAll()
            return isIn
        }
    }

    private func withdraw() {
        let (solo, line) = state.withLock { $0.withdraw() }
        solo?.resume(returning: false)
        for waiter in line { waiter.resume(returning: true) }
    }

    private func change(_ change: (inout State) -> [CheckedContinuation<Bool, Never>]) {
        for waiter in state.withLock({ change(&$0) }) { waiter.resume(returning: true) }
    }
}
