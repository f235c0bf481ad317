/// The state of a request queue, as a value: each change returns what to do after the lock is released.
struct RequestQueueState: Sendable {
    enum Phase: Sendable {
        /// Can transition to: open, closing, ended.
        case connecting(OpenHandler?)
        /// Can transition to: awaitingCommit, closing, ended.
        case open
        /// The connection takes no requests, for that reason; COMMIT's answer is still due. Can transition to: closing, ended.
        case awaitingCommit(PostgresError)
        /// The connection was closed; the thread is finishing. Can transition to: ended.
        case closing
        /// The handle is freed. Final.
        case ended(PostgresError)
    }

    /// Called when the connection is open, or when connecting has failed.
    typealias OpenHandler = @Sendable (Result<Void, any Error>) -> Void

    private(set) var phase: Phase = .connecting(nil)
    private var queue: [Request] = []
    private var endActions: [@Sendable () -> Void] = []
    /// The socket while it is open, for other threads to poll.
    private(set) var socket: Int32?
    /// Whether no exchange is in flight and no transaction is open.
    private(set) var isIdle = true
    private(set) var isReusePrevented = false

    /// Why requests are refused; nil while they are accepted.
    var refusal: PostgresError? {
        switch phase {
        case .connecting, .open: nil
        case .closing: .connectionClosed
        case .awaitingCommit(let error), .ended(let error): error
        }
    }

    var isAwaitingCommit: Bool {
        if case .awaitingCommit = phase { true } else { false }
    }

    /// Returns why the request is refused; nil when it was added.
    mutating func enqueue(_ request: Request) -> (any Error)? {
        if let refusal { return refusal }
        if request.exchange.isDroppable, request.cancellation.isCancelled { return CancellationError() }
        queue.append(request)
        return nil
    }

    /// Removes a request that has not started.
    mutating func withdraw(_ cancellation: CancellationFlag) -> Request? {
        guard let index = queue.firstIndex(where: { $0.cancellation === cancellation }) else { return nil }
        return queue.remove(at: index)
    }

    /// Stores `action`; returns the outcome instead if it is already known.
    mutating func whenOpened(_ action: @escaping OpenHandler) -> Result<Void, any Error>? {
        switch phase {
        case .connecting:
            phase = .connecting(action)
            return nil
        case .open: return .success(())
        case .closing: return .failure(CancellationError())
        case .awaitingCommit(let error), .ended(let error): return .failure(error)
        }
    }

    /// Returns whether the connection is still wanted, and the handler to call.
    mutating func opened(socket: Int32) -> (isWanted: Bool, openHandler: OpenHandler?) {
        guard case .connecting(let openHandler) = phase else { return (false, nil) }
        phase = .open
        self.socket = socket
        return (true, openHandler)
    }

    /// Returns the handler and the requests to fail.
    mutating func close() -> (openHandler: OpenHandler?, requests: [Request]) {
        var openHandler: OpenHandler?
        switch phase {
        case .connecting(let action): openHandler = action
        case .open, .awaitingCommit: break
        case .closing, .ended: return (nil, [])
        }
        phase = .closing
        defer { queue.removeAll() }
        return (openHandler, queue)
    }

    /// Refuses requests while the connection stays open; returns the requests to fail.
    mutating func startAwaitingCommit(_ error: PostgresError) -> [Request] {
        guard case .open = phase else { return [] }
        phase = .awaitingCommit(error)
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

    mutating func settle(isIdle: Bool, isReusePrevented: Bool) {
        self.isIdle = isIdle && queue.isEmpty
        self.isReusePrevented = self.isReusePrevented || isReusePrevented
    }

    /// Stops polling of the socket, whose descriptor number is about to be freed.
    mutating func clearSocket() {
        socket = nil
    }

    struct Termination {
        var openHandler: OpenHandler?
        var requests: [Request]
        var actions: [@Sendable () -> Void]
    }

    mutating func end(_ error: PostgresError) -> Termination {
        var termination = Termination(requests: queue, actions: endActions)
        if case .connecting(let openHandler) = phase { termination.openHandler = openHandler }
        phase = .ended(error)
        queue.removeAll()
        endActions.removeAll()
        socket = nil
        return termination
    }

    /// Stores `action`; returns false if the connection has already ended.
    mutating func whenEnded(_ action: @escaping @Sendable () -> Void) -> Bool {
        if case .ended = phase { return false }
        endActions.append(action)
        return true
    }
}
