import Synchronization

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
