/// The state of a connection pool, as a value: each change returns what to do after the lock is released.
///
/// Each connection occupies one slot, while it is idle, lent, being opened, or retired. A retired connection is unusable, but its server
/// still works on a COMMIT.
struct PoolState<Resource: Sendable, Continuation: Sendable>: Sendable {
    private struct Waiter: Sendable {
        let cancellation: CancellationFlag
        let continuation: Continuation
    }

    private struct Idle: Sendable {
        let resource: Resource
        let since: ContinuousClock.Instant
    }

    private let limit: Int
    /// The most recently used connection is last and is lent first, so that surplus connections expire.
    private var idle: [Idle] = []
    private(set) var lent = 0
    /// Connection attempts in flight. The result goes to the first waiter, or becomes idle.
    private(set) var openings = 0
    private var retired: [Int: Resource] = [:]
    private var retirements = 0
    private var waiters: [Waiter] = []
    private(set) var isClosed = false
    private var drainWaiters: [CheckedContinuation<Void, Never>] = []

    init(limit: Int) {
        self.limit = limit
    }

    var slots: ConnectionPool.Slots {
        ConnectionPool.Slots(idle: idle.count, lent: lent, opening: openings, unanswered: retired.count)
    }

    /// Takes an idle connection; nil when the task has to wait.
    mutating func acquire() -> Resource? {
        guard !isClosed, waiters.isEmpty else { return nil }
        return takeIdle()
    }

    private mutating func takeIdle() -> Resource? {
        guard let last = idle.popLast() else { return nil }
        lent += 1
        return last.resource
    }

    enum Admission {
        case granted(Resource)
        /// The task waits; `opens` tells the caller to open a connection in a free slot.
        case waiting(opens: Bool)
        case cancelled
        case closed
    }

    /// Adds a waiter, and reserves a slot for a new connection if one is free: earlier attempts may take long.
    mutating func wait(_ continuation: Continuation, _ cancellation: CancellationFlag) -> Admission {
        if isClosed { return .closed }
        if cancellation.isCancelled { return .cancelled }
        if waiters.isEmpty, let resource = takeIdle() { return .granted(resource) }
        waiters.append(Waiter(cancellation: cancellation, continuation: continuation))
        return .waiting(opens: beginOpening())
    }

    private mutating func beginOpening() -> Bool {
        guard idle.count + lent + openings + retired.count < limit else { return false }
        openings += 1
        return true
    }

    /// Removes a waiter. Its connection attempt continues: with a dead host in the list, attempts outlive most waiters.
    mutating func withdraw(_ cancellation: CancellationFlag) -> Continuation? {
        guard let index = waiters.firstIndex(where: { $0.cancellation === cancellation }) else { return nil }
        return waiters.remove(at: index).continuation
    }

    /// What to do with a connection that was returned or opened.
    enum ReturnAction {
        case keep
        case discard
        /// Pass it to this waiter.
        case pass(Continuation)
    }

    /// Takes back a connection that can be lent again.
    mutating func release(_ resource: Resource, at now: ContinuousClock.Instant) -> ReturnAction {
        lent -= 1
        return lendOrKeep(resource, at: now)
    }

    /// Takes a connection that has been opened.
    mutating func opened(_ resource: Resource, at now: ContinuousClock.Instant) -> ReturnAction {
        openings -= 1
        return lendOrKeep(resource, at: now)
    }

    private mutating func lendOrKeep(_ resource: Resource, at now: ContinuousClock.Instant) -> ReturnAction {
        guard !isClosed else { return .discard }
        // The first waiter gets it directly; otherwise a new caller could overtake it.
        guard waiters.isEmpty else {
            lent += 1
            return .pass(waiters.removeFirst().continuation)
        }
        idle.append(Idle(resource: resource, since: now))
        return .keep
    }

    /// What to do after a slot became free.
    struct SlotAction {
        /// The waiter that gets the error of the failed attempt.
        var refused: Continuation?
        /// Whether to open a connection for the waiters.
        var opens = false
    }

    /// Frees the slot of a lent connection that was lost.
    mutating func lost() -> SlotAction {
        lent -= 1
        return SlotAction(opens: needsConnection && beginOpening())
    }

    /// Keeps the slot of an unusable lent connection until it has ended.
    ///
    /// - Returns: A number for ``ended(_:)``. Nil, without a change, if the pool is closed or all other slots are retired: without a
    ///   usable slot the pool could not connect to another server.
    mutating func retire(_ resource: Resource) -> Int? {
        guard !isClosed, retired.count < limit - 1 else { return nil }
        lent -= 1
        retirements += 1
        retired[retirements] = resource
        return retirements
    }

    /// Frees the slot of a retired connection that has ended.
    mutating func ended(_ retirement: Int) -> SlotAction {
        retired[retirement] = nil
        return SlotAction(opens: needsConnection && beginOpening())
    }

    /// Frees the slot of a failed connection attempt. The first waiter gets the error, unless each waiter has an attempt in flight.
    mutating func openingFailed() -> SlotAction {
        openings -= 1
        let refused = needsConnection ? waiters.removeFirst().continuation : nil
        return SlotAction(refused: refused, opens: needsConnection && beginOpening())
    }

    /// Whether there are more waiters than connection attempts in flight.
    private var needsConnection: Bool { openings < waiters.count }

    /// Removes the connections that have been idle since before `limit`.
    mutating func expire(before limit: ContinuousClock.Instant) -> [Resource] {
        let count = idle.prefix { $0.since < limit }.count
        defer { idle.removeFirst(count) }
        return idle.prefix(count).map(\.resource)
    }

    /// Closes the pool; returns the idle and retired connections to close, and the waiters to refuse.
    mutating func close() -> (unused: [Resource], waiters: [Continuation]) {
        isClosed = true
        defer {
            idle.removeAll()
            retired.removeAll()
            waiters.removeAll()
        }
        return (idle.map(\.resource) + retired.values, waiters.map(\.continuation))
    }

    /// Stores `continuation` until all connections are returned; returns false if none is lent or being opened.
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

    private var isDrained: Bool { lent == 0 && openings == 0 }
}
