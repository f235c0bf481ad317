import Synchronization

/// Tells whether the loops of a service still go round.
package final class LoopMonitor: Sendable {
    private struct State {
        /// The last beat of each loop that is not idle.
        var beats: [Int: ContinuousClock.Instant] = [:]
        var nextID = 0
    }

    private let limit: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    /// - Parameter limit: the longest time between two beats of a loop that makes progress.
    package init(limit: Duration, now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }) {
        self.limit = limit
        self.now = now
    }

    /// Registers a loop, whose first beat is due within the limit.
    package func loop() -> LoopHeartbeat {
        let instant = now()
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            state.beats[state.nextID] = instant
            return state.nextID
        }
        return LoopHeartbeat(
            beat: {
                let instant = self.now()
                self.state.withLock { $0.beats[id] = instant }
            },
            finish: { self.state.withLock { _ = $0.beats.removeValue(forKey: id) } }
        )
    }

    /// Whether a loop has not beaten for longer than the limit.
    package var isStuck: Bool {
        let instant = now()
        return state.withLock { $0.beats.values.contains { instant - $0 > limit } }
    }
}

/// How a loop shows a watchdog that it makes progress.
package struct LoopHeartbeat: Sendable {
    /// Reports an iteration of the loop; cheap enough for every iteration.
    package let beat: @Sendable () -> Void
    /// Reports that the loop has ended or is idle: it need not beat until it has beaten again.
    package let finish: @Sendable () -> Void

    package init(beat: @escaping @Sendable () -> Void, finish: @escaping @Sendable () -> Void) {
        self.beat = beat
        self.finish = finish
    }

    /// No watchdog.
    package static let none = LoopHeartbeat(beat: {}, finish: {})
}
