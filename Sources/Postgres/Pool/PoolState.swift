/// What a task that asked a pool for a connection gets.
enum PoolGrant<Resource: Sendable>: Sendable {
    case resource(Resource)
    /// The task is to open a connection itself, and to return the slot if it cannot.
    case slot
}

/// What a pool knows, as a value: each change returns what is to be done once the lock is released.
///
/// A slot is the right to have one connection. It is held by an idle connection, a lent one, or a task that is opening one.
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
    private var line: [Place] = []
    private(set) var isClosed = false
    private var drainWaiters: [CheckedContinuation<Void, Never>] = []

    init(limit: Int) {
        self.limit = limit
    }

    var idleCount: Int { idle.count }

    /// Takes an idle connection or a free slot; nil when the task has to wait in line.
    mutating func acquire() -> PoolGrant<Resource>? {
        guard !isClosed, line.isEmpty else { return nil }
        return take()
    }

    private mutating func take() -> PoolGrant<Resource>? {
        guard idle.count + lent < limit || !idle.isEmpty else { return nil }
        lent += 1
        return idle.popLast().map { .resource($0.resource) } ?? .slot
    }

    enum Admission {
        case granted(PoolGrant<Resource>)
        case waiting
        case cancelled
        case closed
    }

    mutating func wait(_ waiter: Waiter, _ ticket: Ticket) -> Admission {
        if isClosed { return .closed }
        if ticket.isCancelled { return .cancelled }
        if line.isEmpty, let grant = take() { return .granted(grant) }
        line.append(Place(ticket: ticket, waiter: waiter))
        return .waiting
    }

    mutating func withdraw(_ ticket: Ticket) -> Waiter? {
        guard let index = line.firstIndex(where: { $0.ticket === ticket }) else { return nil }
        return line.remove(at: index).waiter
    }

    /// What to do with what came back.
    enum Return {
        case keep
        case discard
        /// Hand the grant to this waiter.
        case pass(Waiter, PoolGrant<Resource>)
    }

    /// Takes back a connection that can be lent again.
    mutating func restore(_ resource: Resource, at now: ContinuousClock.Instant) -> Return {
        guard !isClosed else {
            lent -= 1
            return .discard
        }
        // The first in line gets it directly; otherwise a newcomer could overtake.
        if !line.isEmpty { return .pass(line.removeFirst().waiter, .resource(resource)) }
        lent -= 1
        idle.append(Idle(resource: resource, since: now))
        return .keep
    }

    /// Takes back a slot whose connection is gone or could not be opened.
    mutating func release() -> Return {
        if !isClosed, !line.isEmpty { return .pass(line.removeFirst().waiter, .slot) }
        lent -= 1
        return .discard
    }

    /// Takes out the connections that have been idle since before `limit`.
    mutating func expire(before limit: ContinuousClock.Instant) -> [Resource] {
        let count = idle.prefix { $0.since < limit }.count
        defer { idle.removeFirst(count) }
        return idle.prefix(count).map(\.resource)
    }

    /// Refuses everything from now on; returns what is to be closed and who is to be refused.
    mutating func close() -> (idle: [Resource], waiters: [Waiter]) {
        isClosed = true
        defer {
            idle.removeAll()
            line.removeAll()
        }
        return (idle.map(\.resource), line.map(\.waiter))
    }

    /// Returns false when nothing is lent.
    mutating func awaitDrain(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        guard lent > 0 else { return false }
        drainWaiters.append(continuation)
        return true
    }

    /// Who is to be told that the last lent connection has come back.
    mutating func takeDrained() -> [CheckedContinuation<Void, Never>] {
        guard isClosed, lent == 0 else { return [] }
        defer { drainWaiters.removeAll() }
        return drainWaiters
    }
}
