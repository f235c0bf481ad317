import NIOCore

extension EventLoopFuture where Value: Sendable {
    /// Waits for the value until the deadline or the cancellation of the task, whichever comes first.
    func value(before deadline: NIODeadline) async throws -> Value {
        let promise = eventLoop.makePromise(of: Value.self)
        let timeout = eventLoop.scheduleTask(deadline: deadline) { promise.fail(DeliveryFailure.timedOut) }
        whenComplete { result in
            timeout.cancel()
            promise.completeWith(result)
        }
        return try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            promise.fail(DeliveryFailure.cancelled)
        }
    }
}
