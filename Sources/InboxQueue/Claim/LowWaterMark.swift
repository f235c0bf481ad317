import Postgres

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
