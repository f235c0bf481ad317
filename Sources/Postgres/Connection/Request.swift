import Synchronization

/// An exchange in a mailbox, with the task that waits for its outcome.
struct Request: Sendable {
    let exchange: Exchange
    let ticket: Ticket
    private let continuation: CheckedContinuation<[Rows], any Error>

    init(_ exchange: Exchange, ticket: Ticket, continuation: CheckedContinuation<[Rows], any Error>) {
        self.exchange = exchange
        self.ticket = ticket
        self.continuation = continuation
    }

    /// Ends the waiting; to be called exactly once.
    func resume(_ outcome: Result<[Rows], any Error>) {
        continuation.resume(with: outcome)
    }
}

/// The identity of a request, and whether its task still wants it.
final class Ticket: Sendable {
    private let cancelled = Atomic(false)

    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    func cancel() {
        cancelled.store(true, ordering: .releasing)
    }
}
