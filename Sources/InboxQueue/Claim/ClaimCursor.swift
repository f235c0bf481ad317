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

/// Below which position nothing waits and nothing ever will: where a claim may begin, so that it does not walk over the index entries of
/// events that were settled long ago and that a held snapshot keeps from being removed.
///
/// It is an optimisation, never the truth. Events do not commit in the order of their positions, and what another batch holds is invisible to
/// a claim and comes back when that batch is rolled back. So the mark follows two looks at the queue, *probes*, that lock nothing:
/// 1. A probe names a candidate: the first event that it sees, but no later than a second ago. Every writer gets its transaction's number
///    before it reads the clock, and gives an event a time that is not in the past; the second is for a clock that is set back a little.
/// 2. A probe for which every transaction that the first one could have missed has ended makes it the mark, or the first event that it
///    sees itself, if that comes before: what a rollback brought back.
///
/// What even that does not foresee, such as a database clock that was set back, is found by a sweep: a probe from the very beginning.
struct LowWaterMark: Sendable {
    /// How the queue is to be looked at.
    struct Look: Hashable, Sendable {
        /// Where it begins.
        var from: QueuePosition
        /// Whether its transaction is to have a number, without which it names no candidate. An idle worker takes none, so that an idle
        /// server writes no WAL.
        var isNumbered: Bool
    }

    /// What a look at the queue has found.
    struct Probe: Sendable {
        /// Where it began.
        var from: QueuePosition
        /// Since when the server runs that was asked, by which another one is known.
        var serverStart: PostgresTimestamp
        /// The first event from there on, held or not; nil if there is none.
        var first: QueuePosition?
        /// When, by the database's clock.
        var at: PostgresTimestamp
        /// Every transaction below this had ended (`pg_snapshot_xmin`).
        var xmin: Int64
        /// The number of the probe's own transaction, if it has one. It is assigned after the probe, so that every transaction that had one
        /// before has a smaller number. `pg_snapshot_xmax` would not do: it lies behind the latest transaction that has ended, and transactions
        /// with greater numbers may have written and wait for their commit.
        var xid: Int64?
        /// How long the look took, by the database's clock.
        var duration = Duration.zero

        /// Whether the time of the first event has come.
        var isDue: Bool { first.map { $0.runAt <= at } ?? false }
    }

    private struct Candidate {
        var position: QueuePosition
        var xid: Int64
    }

    /// The mark: where claims begin, once there is one.
    private(set) var position = QueuePosition.start
    /// What the latest look saw first, where claims begin as long as there is no mark. Something may turn up before it.
    private var front: QueuePosition?
    private var candidate: Candidate?
    /// Whether there is something to be gained by another candidate.
    private var isWorthwhile = true
    private var nextProbe: ContinuousClock.Instant?
    /// How long the latest probe took, with the claim that it went with, if it did.
    private var probeDuration = Duration.zero
    private var nextSweep: ContinuousClock.Instant?

    /// How far behind the database's clock the mark stays, in microseconds.
    private static var slack: Int64 { 1_000_000 }
    /// A look that takes longer walks over what is dead.
    private static var longLook: Duration { .milliseconds(1) }
    private static var probePause: Duration { .milliseconds(20) }
    /// The minimum gap between probes, as a multiple of the last one's duration; at most a second. While a transaction that has written stays
    /// open the mark does not move, and each probe walks over all entries that were settled meanwhile.
    private static var probeRest: Int { 10 }
    private static var longestProbePause: Duration { .seconds(1) }
    private static var sweepPause: Duration { .seconds(10) }
    /// The minimum gap between sweeps, as a multiple of the last one's duration: under a held snapshot a sweep walks over all settled entries.
    private static var sweepRest: Int { 200 }

    /// The look that is due now, or nil when none is.
    mutating func look(at now: ContinuousClock.Instant) -> Look? {
        if let nextProbe, now < nextProbe { return nil }
        nextProbe = now + max(Self.probePause, min(probeDuration * Self.probeRest, Self.longestProbePause))
        let isNumbered = candidate == nil && isWorthwhile
        if let nextSweep, now < nextSweep { return Look(from: position, isNumbered: isNumbered) }
        nextSweep = now + Self.sweepPause
        return Look(from: .start, isNumbered: isNumbered)
    }

    /// Where a claim may begin that comes after a look, or is repeated from the mark when it finds nothing: while there is no mark, behind what
    /// the latest look walked over. What turns up before that is found by the next one.
    var provisionalPosition: QueuePosition { position > .start ? position : front ?? .start }

    /// A claim took events, which leave dead entries behind.
    mutating func claimed() {
        isWorthwhile = true
    }

    /// Draws the conclusions from a probe. Probes may come in any order.
    ///
    /// - Parameter duration: how long it took, with the claim that it went with, if it did.
    mutating func observe(_ probe: Probe, after duration: Duration = .zero, at now: ContinuousClock.Instant = .now) {
        // A sweep has its own rest; but until there is a mark each probe begins where sweeps do.
        probeDuration = probe.from == .start && position > .start ? .zero : duration
        if position == .start { nextProbe = max(nextProbe ?? now, now + min(duration * Self.probeRest, Self.longestProbePause)) }
        if probe.from == .start { nextSweep = max(nextSweep ?? now, now + probe.duration * Self.sweepRest) }
        if probe.duration > Self.longLook { isWorthwhile = true }
        // It began at a mark that a sweep has lowered since, so it has missed what the sweep found.
        guard probe.from <= position else { return }
        let recent = QueuePosition(
            runAt: PostgresTimestamp(microsecondsSince2000: probe.at.microsecondsSince2000 - Self.slack),
            eventID: .min
        )
        let seen = min(probe.first ?? recent, recent)
        front = seen
        if let first = probe.first, first < position {
            position = first
            candidate = nil
            return
        }
        if let confirmed = candidate, probe.xmin >= confirmed.xid {
            position = max(position, min(confirmed.position, probe.first ?? confirmed.position))
            candidate = nil
        }
        if candidate == nil, let xid = probe.xid {
            candidate = Candidate(position: seen, xid: xid)
            isWorthwhile = false
        }
    }

    /// Begins anew, after the connection was lost: the next one may lead to a server with another clock and other transactions.
    mutating func forget() {
        self = LowWaterMark()
    }
}

/// A place in the order in which events are claimed.
struct QueuePosition: Hashable, Comparable, Sendable {
    var runAt: PostgresTimestamp
    var eventID: Int64

    /// Before every event: the year 4714 BC, where PostgreSQL's time begins.
    static let start = QueuePosition(
        runAt: PostgresTimestamp(microsecondsSince2000: -211_813_488_000_000_000),
        eventID: .min
    )

    static func < (left: QueuePosition, right: QueuePosition) -> Bool {
        (left.runAt, left.eventID) < (right.runAt, right.eventID)
    }
}
