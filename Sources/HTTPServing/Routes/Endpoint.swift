/// What answers the requests of one method of a resource.
package enum Endpoint: Sendable {
    /// Takes the answer. Call it once, on any thread.
    package typealias Answer = @Sendable (Result<Response, Problem>) -> Void

    /// Runs on the event loop of the connection, without a task: for a path with thousands of requests per second. It must not block. A
    /// request whose body exceeds the usual limit runs in a task.
    case onEventLoop(@Sendable (Request, @escaping Answer) -> Void)
    /// Runs in a task of the listener.
    case inTask(@Sendable (Request) async throws(Problem) -> Response)
}
