import Glibc
import Synchronization

/// Lets a process run many batches side by side, or one suspect all by itself: if the process dies then, there is no doubt whose fault it was.
final class SoloGate: Sendable {
    /// Resumed with whether it is in.
    private typealias State = SoloGateState<CheckedContinuation<Bool, Never>>

    private let state = Mutex(State())
    private let minimumPatience: Duration
    private let maximumPatience: Duration
    private let patienceNow: Mutex<Duration>
    private let solitude: Duration

    /// - Parameters:
    ///   - patience: how long a suspect waits for the batches under way to end; twice as long each time that it was in vain.
    ///   - maximumPatience: the most that this becomes.
    ///   - solitude: how long newcomers wait for those who run alone, and for those to come in; half of it is theirs in any case.
    init(patience: Duration, maximumPatience: Duration, solitude: Duration) {
        minimumPatience = patience
        self.maximumPatience = max(patience, maximumPatience)
        patienceNow = Mutex(patience)
        self.solitude = solitude
    }

    /// How long the next suspect waits for the batches under way to end.
    var patience: Duration { patienceNow.withLock(\.self) }

    /// The stay of one batch, or of the suspects that run one after the other.
    final class Stay: Sendable {
        private enum Standing: Sendable {
            /// Can transition to: lingering, givenUp.
            case inside
            /// Was alone and has let the others in. Can transition to: givenUp.
            case lingering
            case givenUp
        }

        /// When others are to be let in, for one who is alone.
        let solitudeEnds: ContinuousClock.Instant?
        private let gate: SoloGate
        private let standing = Mutex(Standing.inside)

        fileprivate init(_ gate: SoloGate, solitudeEnds: ContinuousClock.Instant? = nil) {
            self.gate = gate
            self.solitudeEnds = solitudeEnds
        }

        /// Whether nobody else has been let in.
        var isAlone: Bool { solitudeEnds != nil && standing.withLock { $0 == .inside } }

        /// Goes on beside others.
        func letOthersIn() {
            let isFirst = standing.withLock { standing in
                defer { if standing == .inside { standing = .lingering } }
                return standing == .inside
            }
            if isFirst { gate.change { $0.letOthersIn() } }
        }

        /// Others need not wait until it has ended, which it may never do.
        func giveUp() {
            let before = standing.withLock { standing in
                defer { standing = .givenUp }
                return standing
            }
            if before != .givenUp { gate.change { $0.giveUp(isLingering: before == .lingering) } }
        }

        fileprivate func end() {
            let standing = standing.withLock(\.self)
            gate.change { standing == .givenUp ? $0.endGivenUp() : $0.leave(isLingering: standing == .lingering) }
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
    /// given up, or has let others in, has not ended.
    ///
    /// - Parameter whenTooBusy: called, before nil is returned, if those under way do not end in time.
    nonisolated(nonsending) func alone<T: Sendable>(
        _ body: (Stay) async throws -> T,
        whenTooBusy: () -> Void = {}
    ) async rethrows -> T? {
        guard state.withLock({ $0.reserve() }) else { return nil }
        let start = ContinuousClock.now
        guard await awaitSolitude() else {
            patienceNow.withLock { $0 = min($0 * 2, maximumPatience) }
            whenTooBusy()
            return nil
        }
        patienceNow.withLock { $0 = minimumPatience }
        let stay = Stay(self, solitudeEnds: max(start + solitude, .now + solitude / 2))
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
        let patience = patience
        return await withTaskGroup(of: Void.self) { group in
            let isIn = await withCheckedContinuation { waiter in
                guard !state.withLock({ $0.enterAlone(waiter) }) else { return waiter.resume(returning: true) }
                // Only now: there is no withdrawing before.
                group.addTask {
                    do {
                        try await Task.sleep(for: patience)
                    } catch {
                        // The wait is over, or whoever waits is to end.
                    }
                    self.withdraw()
                }
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
