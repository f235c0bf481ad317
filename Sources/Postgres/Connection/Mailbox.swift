import Synchronization

/// Where tasks leave what a connection's thread has to do, and where the thread tells them what came of it.
final class Mailbox: Sendable {
    let bell: Bell
    private let state = Mutex(MailboxState())

    init() throws(PostgresError) {
        bell = try Bell()
    }
}

/// For tasks.
extension Mailbox {
    /// Waits until the thread has connected. A cancelled task leaves at once; the thread then discards what it gets.
    func awaitOpening() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in whenOpened { waiter.resume(with: $0) } }
        } onCancel: {
            let (opening, requests) = state.withLock { $0.close() }
            opening?(.failure(CancellationError()))
            fail(requests, CancellationError())
        }
    }

    /// Runs `action`, on the connection's thread or at once, when the thread has connected, or has freed the handle because it could not.
    func whenOpened(_ action: @escaping MailboxState.Opening) {
        if let outcome = state.withLock({ $0.whenOpened(action) }) { action(outcome) }
    }

    /// Has the thread carry out an exchange, and waits for the outcome.
    func ask(_ exchange: Exchange) async throws -> [Rows] {
        let ticket = Ticket()
        // A transaction must be ended by a cancelled task too, so its end is not even taken back from the queue.
        guard exchange.isInterruptible else { return try await post(exchange, ticket) }
        return try await withTaskCancellationHandler {
            try await post(exchange, ticket)
        } onCancel: {
            ticket.cancel()
            if let request = state.withLock({ $0.withdraw(ticket) }) {
                request.resume(.failure(CancellationError()))
            } else {
                bell.ring()
            }
        }
    }

    private func post(_ exchange: Exchange, _ ticket: Ticket) async throws -> [Rows] {
        try await withCheckedThrowingContinuation { continuation in
            let request = Request(exchange, ticket: ticket, continuation: continuation)
            if let refusal = state.withLock({ $0.post(request) }) {
                request.resume(.failure(refusal))
            } else {
                bell.ring()
            }
        }
    }

    /// Lets the exchange under way finish, refuses the rest, and has the thread end.
    func close() {
        let (opening, requests) = state.withLock { $0.close() }
        opening?(.failure(PostgresError.connectionClosed))
        fail(requests, PostgresError.connectionClosed)
        bell.ring()
    }

    /// Runs `action` once the thread has freed the handle; at once, if it has.
    func whenEnded(_ action: @escaping @Sendable () -> Void) {
        if !state.withLock({ $0.whenEnded(action) }) { action() }
    }

    /// Whether the connection can be lent to somebody else, as far as can be told without asking the server.
    var isReusable: Bool {
        state.withLock { state in
            guard state.refusal == nil, state.isIdle, !state.isSpoiled, let socket = state.socket else { return false }
            // Nothing is due from the server: what has come is its farewell, or the end of the connection.
            return !SocketWait.isReadable(socket)
        }
    }

    /// Whether the connection was given up while the server still works for it.
    var isOutlasting: Bool { state.withLock(\.isOutlasting) }

    private func fail(_ requests: [Request], _ error: any Error) {
        for request in requests { request.resume(.failure(error)) }
    }
}

/// For the thread.
extension Mailbox {
    /// Returns whether anybody still wants the connection.
    func opened(socket: Int32) -> Bool {
        let (isWanted, opening) = state.withLock { $0.opened(socket: socket) }
        opening?(.success(()))
        return isWanted
    }

    func next() -> MailboxState.Next {
        state.withLock { $0.next() }
    }

    func settle(isIdle: Bool, isSpoiled: Bool) {
        state.withLock { $0.settle(isIdle: isIdle, isSpoiled: isSpoiled) }
    }

    /// The connection is given up for that reason, and stays until an answer has come.
    func outlast(_ error: PostgresError) {
        fail(state.withLock { $0.outlast(error) }, error)
    }

    /// Refuses new requests and looks at the socket; the first thing to do when a connection is given up.
    func forgetSocket() {
        state.withLock { $0.forgetSocket() }
    }

    func end(_ error: PostgresError) {
        let farewell = state.withLock { $0.end(error) }
        farewell.opening?(.failure(error))
        fail(farewell.requests, error)
        for action in farewell.actions { action() }
    }
}
