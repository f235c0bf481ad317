import ServiceSupport

/// Who leases connections of a pool: all its users, or those of a share, which have a limit of their own within that of the pool.
struct PoolShare: Sendable {
    static let whole = PoolShare(index: 0)

    fileprivate let index: Int
}

/// The state of a connection pool, as a value: each change returns what to do after the lock is released.
///
/// Each connection occupies one slot, while it is idle, leased, being opened, or retired. A retired connection is unusable, but its server
/// still works on a COMMIT.
struct PoolState<Resource: Sendable, Continuation: Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Phase: Sendable {
        /// Opens a connection for each waiter while there are slots. Can transition to: failing, closed.
        case running
        /// The last attempt to open a connection failed with this error. Opens one connection at a time, not before `retryAt`, and only for
        /// waiters; attempts that were in flight continue. Can transition to: running, closed.
        case failing(PostgresError, retryAt: Instant)
        /// Refuses new waiters. Final.
        case closed
    }

    private struct Share: Sendable {
        let limit: Int
        let parent: PoolShare?
        /// Also those of the shares within it.
        var leased = 0
    }

    private struct Waiter: Sendable {
        let share: PoolShare
        let cancellation: CancellationFlag
        let continuation: Continuation
    }

    private struct Idle: Sendable {
        let resource: Resource
        let since: Instant
    }

    private let limit: Int
    /// The whole comes first.
    private var shares: [Share]
    private(set) var phase = Phase.running
    /// The most recently used connection is last and is leased first, so that surplus connections expire.
    private var idle: [Idle] = []
    /// Connection attempts in flight. The result goes to the first waiter, or becomes idle.
    private(set) var openings = 0
    private var retired: [Int: Resource] = [:]
    private var retirements = 0
    private var waiters: [Waiter] = []
    /// The delays between attempts that fail.
    private var backoff = Backoff(base: .milliseconds(100), cap: .seconds(1), jitter: 0.5)
    private var isRetryScheduled = false
    private var drainWaiters: [CheckedContinuation<Void, Never>] = []

    init(limit: Int) {
        self.limit = limit
        shares = [Share(limit: limit, parent: nil)]
    }

    var leased: Int { shares[0].leased }

    var slots: ConnectionPool.Slots {
        ConnectionPool.Slots(idle: idle.count, leased: leased, opening: openings, unanswered: retired.count)
    }

    private var freeSlots: Int { limit - idle.count - leased - openings - retired.count }

    private var isClosed: Bool {
        if case .closed = phase { true } else { false }
    }

    /// Adds a share. Its users, with those of the shares within it, lease at most `limit` connections at the same time.
    mutating func addShare(of limit: Int, within parent: PoolShare) -> PoolShare {
        shares.append(Share(limit: limit, parent: parent))
        return PoolShare(index: shares.count - 1)
    }

    func limit(of share: PoolShare) -> Int { shares[share.index].limit }

    /// Counts a connection that a user of `share` leases, or no longer leases.
    private mutating func count(_ change: Int, of share: PoolShare) {
        var next: PoolShare? = share
        while let share = next {
            shares[share.index].leased += change
            next = shares[share.index].parent
        }
    }

    private func hasRoom(_ share: PoolShare) -> Bool {
        var next: PoolShare? = share
        while let share = next {
            guard shares[share.index].leased < shares[share.index].limit else { return false }
            next = shares[share.index].parent
        }
        return true
    }

    private var firstAdmissible: Int? { waiters.firstIndex { hasRoom($0.share) } }

    /// How many of the waiters could have a connection each at the same time.
    private var admissible: Int {
        var counted = self
        return waiters.count { waiter in
            guard counted.hasRoom(waiter.share) else { return false }
            counted.count(1, of: waiter.share)
            return true
        }
    }

    /// Leases an idle connection; nil when the task has to wait.
    mutating func lease(of share: PoolShare = .whole) -> Resource? {
        guard !isClosed, hasRoom(share), firstAdmissible == nil, let last = idle.popLast() else { return nil }
        count(1, of: share)
        return last.resource
    }

    /// Connections to open for the waiters.
    struct Demand: Equatable {
        /// How many to open now, in slots that are reserved.
        var openings = 0
        /// When to call ``retry(at:)``; nil for never.
        var retryAt: Instant?
    }

    enum Admission {
        case leased(Resource)
        case waiting(Demand)
        case cancelled
        case closed
    }

    /// Leases a connection or adds a waiter.
    mutating func wait(
        _ continuation: Continuation,
        _ cancellation: CancellationFlag,
        of share: PoolShare = .whole,
        at now: Instant
    ) -> Admission {
        if isClosed { return .closed }
        if cancellation.isCancelled { return .cancelled }
        if let resource = lease(of: share) { return .leased(resource) }
        let others = admissible
        waiters.append(Waiter(share: share, cancellation: cancellation, continuation: continuation))
        guard case .running = phase else { return .waiting(demand(at: now)) }
        // Also when earlier attempts may serve it: they may take long.
        guard admissible > others, freeSlots > 0 else { return .waiting(Demand()) }
        openings += 1
        return .waiting(Demand(openings: 1))
    }

    /// Reserves slots for the connections that the waiters need beside the idle ones.
    private mutating func demand(at now: Instant) -> Demand {
        var missing = min(admissible - openings - idle.count, freeSlots)
        guard missing > 0 else { return Demand() }
        switch phase {
        case .running: break
        case .closed: return Demand()
        case .failing(_, let retryAt):
            guard openings == 0 else { return Demand() }
            guard now >= retryAt else {
                defer { isRetryScheduled = true }
                return Demand(retryAt: isRetryScheduled ? nil : retryAt)
            }
            missing = 1
        }
        openings += missing
        return Demand(openings: missing)
    }

    /// Removes a waiter. Its connection attempt continues: with a dead host in the list, attempts outlive most waiters.
    mutating func withdraw(_ cancellation: CancellationFlag) -> Continuation? {
        guard let index = waiters.firstIndex(where: { $0.cancellation === cancellation }) else { return nil }
        return waiters.remove(at: index).continuation
    }

    /// What to do with a connection that was released or opened.
    enum ReturnAction {
        case keep
        case discard
        /// Pass it to this waiter.
        case pass(Continuation)
    }

    /// Takes back a connection that can be leased again.
    mutating func release(_ resource: Resource, of share: PoolShare = .whole, at now: Instant) -> ReturnAction {
        count(-1, of: share)
        return leaseOrKeep(resource, at: now)
    }

    /// Takes a connection that has been opened.
    mutating func opened(_ resource: Resource, at now: Instant) -> (action: ReturnAction, demand: Demand) {
        openings -= 1
        if case .failing = phase { phase = .running }
        backoff.reset()
        return (leaseOrKeep(resource, at: now), demand(at: now))
    }

    private mutating func leaseOrKeep(_ resource: Resource, at now: Instant) -> ReturnAction {
        guard !isClosed else { return .discard }
        // The first waiter whose share has room gets it directly; otherwise a new caller could overtake it.
        if let index = firstAdmissible { return .pass(admit(index)) }
        idle.append(Idle(resource: resource, since: now))
        return .keep
    }

    private mutating func admit(_ index: Int) -> Continuation {
        let waiter = waiters.remove(at: index)
        count(1, of: waiter.share)
        return waiter.continuation
    }

    /// Takes an idle connection for the first waiter whose share has room. A connection that was lost or retired has made room in its share, and
    /// is not passed on itself.
    mutating func serveIdle() -> (resource: Resource, waiter: Continuation)? {
        guard let index = firstAdmissible, let last = idle.popLast() else { return nil }
        return (last.resource, admit(index))
    }

    /// Frees the slot of a failed attempt. Returns the waiters that get its error: all of them, unless another attempt is in flight.
    mutating func openingFailed(
        _ error: PostgresError,
        at now: Instant,
        using generator: inout some RandomNumberGenerator
    ) -> [Continuation] {
        openings -= 1
        guard !isClosed else { return [] }
        guard openings == 0 else {
            phase = .failing(error, retryAt: now)
            return []
        }
        phase = .failing(error, retryAt: now + backoff.next(using: &generator))
        defer { waiters.removeAll() }
        return waiters.map(\.continuation)
    }

    /// The pause after a failed attempt is over.
    mutating func retry(at now: Instant) -> Demand {
        isRetryScheduled = false
        return demand(at: now)
    }

    /// Frees the slot of a leased connection that was lost.
    mutating func lost(of share: PoolShare = .whole, at now: Instant) -> Demand {
        count(-1, of: share)
        return demand(at: now)
    }

    /// Keeps the slot of an unusable leased connection until it has ended.
    ///
    /// - Returns: A number for ``ended(_:at:)``. Nil, without a change, if the pool is closed or all other slots are retired: without a
    ///   usable slot the pool could not connect to another server.
    mutating func retire(_ resource: Resource, of share: PoolShare = .whole) -> Int? {
        guard !isClosed, retired.count < limit - 1 else { return nil }
        count(-1, of: share)
        retirements += 1
        retired[retirements] = resource
        return retirements
    }

    /// Frees the slot of a retired connection that has ended.
    mutating func ended(_ retirement: Int, at now: Instant) -> Demand {
        retired[retirement] = nil
        return demand(at: now)
    }

    /// Removes the connections that have been idle since before `limit`.
    mutating func expire(before limit: Instant) -> [Resource] {
        let count = idle.prefix { $0.since < limit }.count
        defer { idle.removeFirst(count) }
        return idle.prefix(count).map(\.resource)
    }

    /// Closes the pool; returns the idle and retired connections to close, and the waiters to refuse.
    mutating func close() -> (unused: [Resource], waiters: [Continuation]) {
        phase = .closed
        defer {
            idle.removeAll()
            retired.removeAll()
            waiters.removeAll()
        }
        return (idle.map(\.resource) + retired.values, waiters.map(\.continuation))
    }

    /// Stores `continuation` until all connections are released; returns false if none is leased or being opened.
    mutating func awaitDrain(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        guard !isDrained else { return false }
        drainWaiters.append(continuation)
        return true
    }

    /// Removes the drain waiters to resume; empty until the closed pool is drained.
    mutating func takeDrained() -> [CheckedContinuation<Void, Never>] {
        guard isClosed, isDrained else { return [] }
        defer { drainWaiters.removeAll() }
        return drainWaiters
    }

    private var isDrained: Bool { leased == 0 && openings == 0 }
}
