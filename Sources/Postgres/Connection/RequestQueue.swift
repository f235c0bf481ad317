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
