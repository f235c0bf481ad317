import Postgres
import Synchronization

/// Where the claims of this process begin.
///
/// In a backlog a claim begins where the last one ended. Every 20 ms or so it begins at the low-water mark instead, to find what was released or
/// committed late.
final class ClaimCursor: Sendable {
    /// Where a claim begins.
    struct Start: Hashable, Sendable {
        var position: QueuePosition
        /// The probe that goes with it, or before it while there is no mark.
        var look: LowWaterMark.Look?
        /// Whether it begins behind the mark without a probe, so that events before it are not seen.
        var isContinuation = false
    }

    private struct State {
        var mark = LowWaterMark()
        /// Behind the last event of the latest claim, if that was full.
        var lastClaimEnd: QueuePosition?
        /// When the server was started that answered last.
        var serverStart: PostgresTimestamp?

        mutating func forget() {
            mark.forget()
            lastClaimEnd = nil
        }
    }

    private let state = Mutex(State())

    /// Where the next claim begins.
    func next(at now: ContinuousClock.Instant = .now) -> Start {
        state.withLock { state in
            if let look = state.mark.look(at: now) { return Start(position: state.mark.position, look: look) }
            let start = max(state.lastClaimEnd ?? .start, state.mark.provisionalPosition)
            return Start(position: start, isContinuation: start > state.mark.position)
        }
    }

    /// The probe of a worker that waits for events: the one that is due, or a short one from the mark.
    func nextLook(at now: ContinuousClock.Instant = .now) -> LowWaterMark.Look {
        state.withLock { $0.mark.look(at: now) ?? LowWaterMark.Look(from: $0.mark.position, isNumbered: false) }
    }

    /// Where a claim begins after a probe that was sent before it. While there is no mark, both would walk over all dead entries.
    func afterLook() -> Start {
        state.withLock { Start(position: $0.mark.provisionalPosition) }
    }

    /// The low-water mark.
    var mark: Start { Start(position: state.withLock(\.mark.position)) }

    /// A claim took so many events.
    ///
    /// - Parameter end: behind the last of them, if they were as many as it may take.
    func claimed(_ events: Int, upTo end: QueuePosition?) {
        state.withLock { state in
            state.lastClaimEnd = end
            if events > 0 { state.mark.claimed() }
        }
    }

    /// A pool or a pooler replaces a broken connection silently. That another server answers, with other transactions and another clock, shows in
    /// the first probe.
    func observe(_ probe: LowWaterMark.Probe, after duration: Duration = .zero) {
        state.withLock { state in
            if let known = state.serverStart, known != probe.serverStart { state.forget() }
            state.serverStart = probe.serverStart
            state.mark.observe(probe, after: duration)
        }
    }

    /// The server may be another one from now on.
    func connectionWasLost() {
        state.withLock { $0.forget() }
    }
}
