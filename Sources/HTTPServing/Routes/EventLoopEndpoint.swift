package import NIOCore
package import NIOHTTP1

/// Answers a POST on the event loop of its connection, without a task, a router or a response stream.
///
/// It is meant for a path with thousands of requests per second. The handler must not block. Bodies above the usual limit are handled in a
/// task.
package struct EventLoopEndpoint: Sendable {
    /// Takes a problem, or nil for status 200 with an empty body. Call it once, on any thread.
    package typealias Answer = @Sendable (Problem?) -> Void

    let handle: @Sendable (_ fields: HTTPHeaders, _ body: ByteBuffer, _ answer: @escaping Answer) -> Void

    package init(_ handle: @escaping @Sendable (_ fields: HTTPHeaders, _ body: ByteBuffer, _ answer: @escaping Answer) -> Void) {
        self.handle = handle
    }
}
