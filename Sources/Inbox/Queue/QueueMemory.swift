import Postgres
import Synchronization

/// What the batches of one process learn from each other.
final class QueueMemory: Sendable {
    /// Where a claim begins.
    struct ClaimStart: Hashable, Sendable {
        var position: QueuePosition
        /// A look at the queue that is to go with it, or before it while there is no mark.
        var look: LowWaterMark.Look?
        /// Whether it begins behind the mark with no look, so that it does not see what others have let go, or committed late, before that.
        var isContinuation = false
    }

    private struct State {
        var mark = LowWaterMark()
        /// Behind the last event of the latest claim, if that was full. What lies before it is mostly held, or dead.
        var lastClaimEnd: QueuePosition?
        var patience: Patience
        var statementPatience: Patience
        var limit: BatchLimit
        var losses = RepeatedLosses()
        var suspectsAreDue = false
        /// Since when the server runs that was seen last.
        var serverStart: PostgresTimestamp?
        var carefulUntil: ContinuousClock.Instant?
        var waryUntil: ContinuousClock.Instant?

        mutating func forgetQueue() {
            mark.forget()
            lastClaimEnd = nil
        }
    }

    private let state: Mutex<State>

    init(patience: Patience, statementPatience: Patience, limit: BatchLimit) {
        state = Mutex(State(patience: patience, statementPatience: statementPatience, limit: limit))
    }

    /// Where the next claim begins: in a backlog where the last one ended, but each time that there is a look at the queue from the mark, so that
    /// what was let go again, or committed late, waits for 20 ms or so, a second while looks take long; without a mark for as long as a look
    /// takes, too.
    func nextClaim(at now: ContinuousClock.Instant = .now) -> ClaimStart {
        state.withLock { state in
            if let look = state.mark.look(at: now) { return ClaimStart(position: state.mark.position, look: look) }
            let start = max(state.lastClaimEnd ?? .start, state.mark.provisionalPosition)
            return ClaimStart(position: start, isContinuation: start > state.mark.position)
        }
    }

    /// The look of a worker that waits for events: the one that is due, or a short one from the mark.
    func nextLook(at now: ContinuousClock.Instant = .now) -> LowWaterMark.Look {
        state.withLock { $0.mark.look(at: now) ?? LowWaterMark.Look(from: $0.mark.position, isNumbered: false) }
    }

    /// Where a claim begins after a look that was made before it: while there is no mark each of both would walk over all that is dead.
    func claimAfterLook() -> ClaimStart {
        state.withLock { ClaimStart(position: $0.mark.provisionalPosition) }
    }

    /// A claim took so many events.
    ///
    /// - Parameter end: behind the last of them, if they were as many as it may take.
    func claimed(_ events: Int, upTo end: QueuePosition?) {
        state.withLock { state in
            state.lastClaimEnd = end
            if events > 0 { state.mark.claimed() }
        }
    }

    /// Below which nothing waits.
    var mark: QueuePosition { state.withLock(\.mark.position) }

    /// A connection that died while it was idle is replaced without a word, and so is one behind a pooler: that the server is another one, with
    /// other transactions and another clock, shows in the first look.
    func observe(_ probe: LowWaterMark.Probe, after duration: Duration = .zero) {
        state.withLock { state in
            if let known = state.serverStart, known != probe.serverStart { state.forgetQueue() }
            state.serverStart = probe.serverStart
            state.mark.observe(probe, after: duration)
        }
    }

    /// The server may be another one from now on.
    func connectionWasLost() {
        state.withLock { $0.forgetQueue() }
    }

    /// Those of claimed events that are to be put off, and for how long.
    func delays(of events: [Int64]) -> [Int64: Duration] {
        state.withLock { state in
            var delays: [Int64: Duration] = [:]
            guard !state.losses.isEmpty else { return delays }
            var generator = SystemRandomNumberGenerator()
            for event in events { delays[event] = state.losses.delay(of: event, using: &generator) }
            return delays
        }
    }

    /// It was committed what became of these, and that those wait.
    func settled(_ events: [Int64], putOff: [Int64]) {
        state.withLock { state in
            state.losses.committed(events)
            state.losses.putOff(putOff)
        }
    }

    /// How many events the next batch may take.
    var batchLimit: Int { state.withLock(\.limit.events) }

    /// A batch with these events was lost, and it cannot be told for which of them.
    func lost(_ events: [Int64], inCompany: Bool) {
        guard !events.isEmpty else { return }
        state.withLock { state in
            if inCompany { state.limit.lost(events.count) }
            if events.count == 1 { state.losses.lost(events[0]) }
        }
    }

    func committed(_ events: Int) {
        state.withLock { $0.limit.committed(events) }
    }

    func bound(for events: Int) -> Duration {
        state.withLock { $0.patience.bound(for: events) }
    }

    func took(_ duration: Duration, events: Int) {
        state.withLock { $0.patience.took(duration, events: events) }
    }

    /// Events were given up after that bound.
    func exceeded(_ bound: Duration) {
        state.withLock { $0.patience.exceeded(bound) }
    }

    /// How long a statement may take that merges so many events.
    func statementBound(for events: Int) -> Duration {
        state.withLock { $0.statementPatience.bound(for: events) }
    }

    /// A batch was merged as a whole in that time. However few its events were, it says nothing of what more of them would take.
    func merged(in duration: Duration, events: Int) {
        state.withLock { $0.statementPatience.took(duration, events: max(events, $0.limit.events)) }
    }

    /// A statement of a batch took longer than the bound.
    func mergeExceeded(_ bound: Duration) {
        state.withLock { $0.statementPatience.exceeded(bound) }
    }

    /// Too many events of a batch waited in vain for each of them to be to blame; in smaller ones it can be told.
    func stalled(_ events: Int) {
        state.withLock { $0.limit.lost(events) }
    }

    /// The outcomes of a batch could not be recorded. One of its events is to blame, and all come back with the next batches.
    func recordingFailed() {
        state.withLock { $0.carefulUntil = .now + .seconds(5) }
    }

    /// Whether outcomes are to be recorded so that one which cannot be does not stop the others.
    var isCareful: Bool {
        state.withLock { state in state.carefulUntil.map { .now < $0 } ?? false }
    }

    /// Events could not be claimed, for an error that may be one body's.
    func claimFailed() {
        state.withLock { $0.waryUntil = .now + .seconds(5) }
    }

    /// Whether bodies are to be read one by one, so that one which cannot be does not stop the others.
    var isWary: Bool {
        state.withLock { state in state.waryUntil.map { .now < $0 } ?? false }
    }

    var suspectsAreDue: Bool {
        get { state.withLock(\.suspectsAreDue) }
        set { state.withLock { $0.suspectsAreDue = newValue } }
    }
}
