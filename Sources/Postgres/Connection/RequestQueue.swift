import Synchronization

/// The requests of tasks to a connection's thread, and the state of the connection that the thread publishes.
final class RequestQueue: Sendable {
    let wakeup: WakeupDescriptor
    private let state = Mutex(RequestQueueState())

    init() throws(PostgresError) {
        wakeup = try WakeupDescriptor()
    }
}

/// Called by tasks.
extension RequestQueue {
    /// Waits until the thread has connected. Returns at once when the task is cancelled; the thread then discards its connection.
    func awaitOpening() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in whenOpened { waiter.resume(with: $0) } }
        } onCancel: {
            let (openHandler, requests) = state.withLock { $0.close() }
            openHandler?(.failure(CancellationError()))
            fail(requests, CancellationError())
        }
    }

    /// Runs `action` when the thread has connected, or has freed the handle because connecting failed.
    ///
    /// The action runs on the connection's thread, or in this call if the outcome is known.
    func whenOpened(_ action: @escaping RequestQueueState.OpenHandler) {
        if let outcome = state.withLock({ $0.whenOpened(action) }) { action(outcome) }
    }

    /// Runs an exchange on the thread and returns its outcome.
    func perform(_ exchange: Exchange) async throws -> [Rows] {
        let cancellation = CancellationFlag()
        guard exchange.isInterruptible else { return try await enqueue(exchange, cancellation) }
        return try await withTaskCancellationHandler {
            try await enqueue(exchange, cancellation)
        } onCancel: {
            cancellation.cancel()
            if exchange.isDroppable, let request = state.withLock({ $0.withdraw(cancellation) }) {
                request.resume(.failure(CancellationError()))
            } else {
                wakeup.signal()
            }
        }
    }

    private func enqueue(_ exchange: Exchange, _ cancellation: CancellationFlag) async throws -> [Rows] {
        try await withCheckedThrowingContinuation { continuation in
            let request = Request(exchange, cancellation: cancellation, continuation: continuation)
            if let refusal = state.withLock({ $0.enqueue(request) }) {
                request.resume(.failure(refusal))
            } else {
                wakeup.signal()
            }
        }
    }

    /// Refuses the queued requests; the thread finishes the exchange in flight and ends.
    func close() {
        let (openHandler, requests) = state.withLock { $0.close() }
        openHandler?(.failure(PostgresError.connectionClosed))
        fail(requests, PostgresError.connectionClosed)
        wakeup.signal()
    }

    /// Runs `action` once the thread has freed the handle; in this call if it already has.
    func whenEnded(_ action: @escaping @Sendable () -> Void) {
        if !state.withLock({ $0.whenEnded(action) }) { action() }
    }

    /// Whether the connection can be leased again, as far as known without a round trip.
    var isReusable: Bool {
        state.withLock { state in
            guard state.refusal == nil, state.isIdle, !state.isReusePrevented, let socket = state.socket else { return false }
            // No answer is due, so readable input is a fatal notice or the end of the connection.
            return !SocketPoll.isReadable(socket)
        }
    }

    var isAwaitingCommit: Bool { state.withLock(\.isAwaitingCommit) }

    private func fail(_ requests: [Request], _ error: any Error) {
        for request in requests { request.resume(.failure(error)) }
    }
}

/// Called by the connection's thread.
extension RequestQueue {
    /// Returns whether the connection is still wanted.
    func opened(socket: Int32) -> Bool {
        let (isWanted, openHandler) = state.withLock { $0.opened(socket: socket) }
        openHandler?(.success(()))
        return isWanted
    }

    func next() -> RequestQueueState.Next {
        state.withLock { $0.next() }
    }

    func settle(isIdle: Bool, isReusePrevented: Bool) {
        state.withLock { $0.settle(isIdle: isIdle, isReusePrevented: isReusePrevented) }
    }

    /// Refuses requests with `error`, while the thread waits for COMMIT's answer.
    func startAwaitingCommit(_ error: PostgresError) {
        fail(state.withLock { $0.startAwaitingCommit(error) }, error)
    }

    /// Ends the use of the socket by other threads; to be called before the handle is freed.
    func clearSocket() {
        state.withLock { $0.clearSocket() }
    }

    func end(_ error: PostgresError) {
        let termination = state.withLock { $0.end(error) }
        termination.openHandler?(.failure(error))
        fail(termination.requests, error)
        for action in termination.actions { action() }
    }
}

/// The state of a request queue, as a value: each change returns what to do after the lock is released.
struct RequestQueueState: Sendable {
    private enum Phase: Sendable {
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

    private var phase: Phase = .connecting(nil)
    private var queue: [Request] = []
    private var endActions: [@Sendable () -> Void] = []
    /// The socket while it is open, for other threads to poll.
    fileprivate private(set) var socket: Int32?
    /// Whether no exchange is in flight and no transaction is open.
    fileprivate private(set) var isIdle = true
    fileprivate private(set) var isReusePrevented = false

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

    fileprivate struct Termination {
        var openHandler: OpenHandler?
        var requests: [Request]
        var actions: [@Sendable () -> Void]
    }

    fileprivate mutating func end(_ error: PostgresError) -> Termination {
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

/// An exchange in a request queue, with the continuation of the task that waits for it.
struct Request: Sendable {
    let exchange: Exchange
    let cancellation: CancellationFlag
    private let continuation: CheckedContinuation<[Rows], any Error>

    init(_ exchange: Exchange, cancellation: CancellationFlag, continuation: CheckedContinuation<[Rows], any Error>) {
        self.exchange = exchange
        self.cancellation = cancellation
        self.continuation = continuation
    }

    /// Resumes the task; to be called exactly once.
    func resume(_ outcome: Result<[Rows], any Error>) {
        continuation.resume(with: outcome)
    }
}

/// The identity of a request, and whether its task was cancelled.
final class CancellationFlag: Sendable {
    private let cancelled = Atomic(false)

    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    func cancel() {
        cancelled.store(true, ordering: .releasing)
    }
}

/// What a task asks of a connection's thread: one round trip to the server.
enum Exchange: Sendable {
    /// Statements in one pipeline with one sync, inside `transaction` if there is one.
    case statements([Statement], TransactionToken?)
    /// A text of many statements, without binds.
    case script(String)
    case commit(TransactionToken)
    case rollback(TransactionToken)

    /// Whether it is dropped when its task is cancelled before it was sent. A transaction must not stay open because of that.
    var isDroppable: Bool {
        switch self {
        case .statements, .script: true
        case .commit, .rollback: false
        }
    }

    /// Whether its task stops waiting for the answer when it is cancelled.
    var isInterruptible: Bool {
        if case .rollback = self { false } else { true }
    }
}
