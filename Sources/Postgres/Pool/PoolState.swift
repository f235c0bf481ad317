/// What a pool knows, as a value: each change returns what is to be done once the lock is released.
///
/// A slot is the right to have one connection. It is held by an idle connection, a lent one, one that is being opened, or one that is retired:
/// of no use to anybody, but the server still works for it.
struct PoolState<Resource: Sendable, Waiter: Sendable>: Sendable {
    private struct Place: Sendable {
        let ticket: Ticket
        let waiter: Waiter
    }

    private struct Idle: Sendable {
        let resource: Resource
        let since: ContinuousClock.Instant
    }

    private let limit: Int
    /// The most recently used is last, and lent first: the others can grow old and go.
    private var idle: [Idle] = []
    private(set) var lent = 0
    /// They belong to nobody: what comes of them is for the first in line, or becomes idle.
    private(set) var openings = 0
    private var retired: [Int: Resource] = [:]
    private var retirements = 0
    private var line: [Place] = []
    private(set) var isClosed = false
    private var drainWaiters: [CheckedContinuation<Void, Never>] = []

    init(limit: Int) {
        self.limit = limit
    }

    var slots: ConnectionPool.Slots {
        ConnectionPool.Slots(idle: idle.count, lent: lent, opening: openings, unanswered: retired.count)
    }

    /// Takes an idle connection; nil when the task has to wait in line.
    mutating func acquire() -> Resource? {
        guard !isClosed, line.isEmpty else { return nil }
        return takeIdle()
    }

    private mutating func takeIdle() -> Resource? {
        guard let last = idle.popLast() else { return nil }
        lent += 1
        return last.resource
    }

    enum Admission {
        case granted(Resource)
        /// A connection is to be opened meanwhile, or there is no slot for it.
        case waiting(opens: Bool)
        case cancelled
        case closed
    }

    /// Puts a task in line, and has a connection opened in its name if there is a slot: those that are being opened may take long.
    mutating func wait(_ waiter: Waiter, _ ticket: Ticket) -> Admission {
        if isClosed { return .closed }
        if ticket.isCancelled { return .cancelled }
        if line.isEmpty, let resource = takeIdle() { return .granted(resource) }
        line.append(Place(ticket: ticket, waiter: waiter))
        return .waiting(opens: beginOpening())
    }

    private mutating func beginOpening() -> Bool {
        guard idle.count + lent + openings + retired.count < limit else { return false }
        openings += 1
        return true
    }

    /// Takes a task out of the line. What is being opened in its name goes on: where one host in a list is dead, it takes longer than
    /// many a task can wait, and if it went with the task, there would never be a connection.
    mutating func withdraw(_ ticket: Ticket) -> Waiter? {
        guard let index = line.firstIndex(where: { $0.ticket === ticket }) else { return nil }
        return line.remove(at: index).waiter
    }

    /// What to do with a connection that came back or was opened.
    enum Return {
        case keep
        case discard
        /// Hand it to this waiter.
        case pass(Waiter)
    }

    /// Takes back a connection that can be lent again.
    mutating func restore(_ resource: Resource, at now: ContinuousClock.Instant) -> Return {
        lent -= 1
        return place(resource, at: now)
    }

    /// Takes a connection that has been opened.
    mutating func opened(_ resource: Resource, at now: ContinuousClock.Instant) -> Return {
        openings -= 1
        return place(resource, at: now)
    }

    private mutating func place(_ resource: Resource, at now: ContinuousClock.Instant) -> Return {
        guard !isClosed else { return .discard }
        // The first in line gets it directly; otherwise a newcomer could overtake.
        guard line.isEmpty else {
            lent += 1
            return .pass(line.removeFirst().waiter)
        }
        idle.append(Idle(resource: resource, since: now))
        return .keep
    }

    /// What to do about a slot that became free.
    struct Vacancy {
        /// Who is to be told that there is no connection for him.
        var refused: Waiter?
        /// Whether a connection is to be opened for those who wait.
        var opens = false
    }

    /// Takes note that a lent connection is gone.
    mutating func lost() -> Vacancy {
        lent -= 1
        return Vacancy(opens: isShort && beginOpening())
    }

    /// Keeps the slot of a lent connection that is of no use any more until it has ended. Nil, and it is still lent, when the pool is closed or when
    /// it is the last slot: with none, the pool could not move to another server.
    ///
    /// - Returns: A number for ``ended(_:)``.
    mutating func retire(_ resource: Resource) -> Int? {
        guard !isClosed, retired.count < limit - 1 else { return nil }
        lent -= 1
        retirements += 1
        retired[retirements] = resource
        return retirements
    }

    /// Takes note that a retired connection is gone.
    mutating func ended(_ retirement: Int) -> Vacancy {
        retired[retirement] = nil
        return Vacancy(opens: isShort && beginOpening())
    }

    /// Takes note that a connection could not be opened. The first in line hears of it, unless there is another opening for him.
    mutating func openingFailed() -> Vacancy {
        openings -= 1
        let refused = isShort ? line.removeFirst().waiter : nil
        return Vacancy(refused: refused, opens: isShort && beginOpening())
    }

    /// Whether more tasks wait than connections are being opened.
    private var isShort: Bool { openings < line.count }

    /// Takes out the connections that have been idle since before `limit`.
    mutating func expire(before limit: ContinuousClock.Instant) -> [Resource] {
        let count = idle.prefix { $0.since < limit }.count
        defer { idle.removeFirst(count) }
        return idle.prefix(count).map(\.resource)
    }

    /// Refuses everything from now on; returns what is to be closed, idle or retired, and who is to be refused.
    mutating func close() -> (unused: [Resource], waiters: [Waiter]) {
        isClosed = true
        defer {
            idle.removeAll()
            retired.removeAll()
            line.removeAll()
        }
        return (idle.map(\.resource) + retired.values, line.map(\.waiter))
    }

    /// Returns false when nothing is lent and nothing is being opened.
    mutating func awaitDrain(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        guard !isDrained else { return false }
        drainWaiters.append(continuation)
        return true
    }

    /// Who is to be told that the last connection has come back.
    mutating func takeDrained() -> [CheckedContinuation<Void, Never>] {
        guard isClosed, isDrained else { return [] }
        defer { drainWaiters.removeAll() }
        return drainWaiters
    }

    private var isDrained: Bool { lent == 0 && openings == 0 }
}
