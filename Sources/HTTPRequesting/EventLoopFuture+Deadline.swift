package import NIOCore

extension EventLoopFuture where Value: Sendable {
    /// Waits for the value until the deadline or the cancellation of the task, whichever comes first; these throw an ``ExchangeError``.
    package func value(before deadline: NIODeadline) async throws -> Value {
        let promise = eventLoop.makePromise(of: Value.self)
        let timeout = eventLoop.scheduleTask(deadline: deadline) { promise.fail(ExchangeError.timedOut) }
        whenComplete { result in
            timeout.cancel()
            promise.completeWith(result)
        }
        return try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            promise.fail(ExchangeError.cancelled)
        }
    }
}
