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
    package func loop() -> Loop {
        let instant = now()
        return state.withLock { state in
            defer { state.nextID += 1 }
            state.beats[state.nextID] = instant
            return Loop(monitor: self, id: state.nextID)
        }
    }

    /// Whether a loop has not beaten for longer than the limit.
    package var isStuck: Bool {
        let instant = now()
        return state.withLock { $0.beats.values.contains { instant - $0 > limit } }
    }

    /// A registered loop of the service.
    package struct Loop: Sendable {
        fileprivate let monitor: LoopMonitor
        fileprivate let id: Int

        /// Reports an iteration of the loop; cheap enough for every iteration.
        package func beat() {
            let instant = monitor.now()
            monitor.state.withLock { $0.beats[id] = instant }
        }

        /// Reports that the loop has ended or is idle. Its next beat registers it again.
        package func finish() { monitor.state.withLock { _ = $0.beats.removeValue(forKey: id) } }
    }
}
