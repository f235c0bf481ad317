/// What a mailbox knows, as a value: each change returns what is to be done once the lock is released.
struct MailboxState: Sendable {
    enum Phase: Sendable {
        /// Can transition to: open, closing, ended.
        case connecting(Opening?)
        /// Can transition to: outlasting, closing, ended.
        case open
        /// The connection was given up, for that reason, but an answer is still due. Can transition to: closing, ended.
        case outlasting(PostgresError)
        /// Nobody wants the connection any more; the thread is finishing. Can transition to: ended.
        case closing
        /// The handle is freed. Final.
        case ended(PostgresError)
    }

    /// What is to be done when the connection is there, or will never be.
    typealias Opening = @Sendable (Result<Void, any Error>) -> Void

    private(set) var phase: Phase = .connecting(nil)
    private var queue: [Request] = []
    private var endActions: [@Sendable () -> Void] = []
    /// The socket while it is open, for a look at it from other threads.
    private(set) var socket: Int32?
    /// Whether no exchange runs and no transaction is open.
    private(set) var isIdle = true
    private(set) var isSpoiled = false

    /// Why nothing can be asked any more; nil while it can.
    var refusal: PostgresError? {
        switch phase {
        case .connecting, .open: nil
        case .closing: .connectionClosed
        case .outlasting(let error), .ended(let error): error
        }
    }

    var isOutlasting: Bool {
        if case .outlasting = phase { true } else { false }
    }

    /// Returns why the request cannot be taken; nil when it has been.
    mutating func post(_ request: Request) -> (any Error)? {
        if let refusal { return refusal }
        if request.ticket.isCancelled { return CancellationError() }
        queue.append(request)
        return nil
    }

    /// Takes back a request that has not been started.
    mutating func withdraw(_ ticket: Ticket) -> Request? {
        guard let index = queue.firstIndex(where: { $0.ticket === ticket }) else { return nil }
        return queue.remove(at: index)
    }

    /// Keeps `action` for the opening; returns its outcome when that is known already.
    mutating func whenOpened(_ action: @escaping Opening) -> Result<Void, any Error>? {
        switch phase {
        case .connecting:
            phase = .connecting(action)
            return nil
        case .open: return .success(())
        case .closing: return .failure(CancellationError())
        case .outlasting(let error), .ended(let error): return .failure(error)
        }
    }

    /// Returns whether the connection is still wanted, and who is to hear of it.
    mutating func opened(socket: Int32) -> (isWanted: Bool, opening: Opening?) {
        guard case .connecting(let opening) = phase else { return (false, nil) }
        phase = .open
        self.socket = socket
        return (true, opening)
    }

    /// Returns what can no longer be served.
    mutating func close() -> (opening: Opening?, requests: [Request]) {
        var opening: Opening?
        switch phase {
        case .connecting(let action): opening = action
        case .open, .outlasting: break
        case .closing, .ended: return (nil, [])
        }
        phase = .closing
        defer { queue.removeAll() }
        return (opening, queue)
    }

    /// Refuses everything from now on, though the connection stays; returns what can no longer be served.
    mutating func outlast(_ error: PostgresError) -> [Request] {
        guard case .open = phase else { return [] }
        phase = .outlasting(error)
        defer { queue.removeAll() }
        return queue
    }

    enum Next {
        case request(Request)
        case nothing
        case close
    }

    mutating func next() -> Next {
        if case .closing = phase { return .close }
        guard !queue.isEmpty else { return .nothing }
        isIdle = false
        return .request(queue.removeFirst())
    }

    mutating func settle(isIdle: Bool, isSpoiled: Bool) {
        self.isIdle = isIdle && queue.isEmpty
        self.isSpoiled = self.isSpoiled || isSpoiled
    }

    /// No more looks at the socket: its number is about to belong to something else.
    mutating func forgetSocket() {
        socket = nil
    }

    struct Farewell {
        var opening: Opening?
        var requests: [Request]
        var actions: [@Sendable () -> Void]
    }

    mutating func end(_ error: PostgresError) -> Farewell {
        var farewell = Farewell(requests: queue, actions: endActions)
        if case .connecting(let opening) = phase { farewell.opening = opening }
        phase = .ended(error)
        queue.removeAll()
        endActions.removeAll()
        socket = nil
        return farewell
    }

    /// Keeps `action` for the end; returns false when that has come already.
    mutating func whenEnded(_ action: @escaping @Sendable () -> Void) -> Bool {
        if case .ended = phase { return false }
        endActions.append(action)
        return true
    }
}
