package import NIOCore
package import NIOHTTP1

/// Answers a POST on the event loop of its connection, as soon as its last byte is there: without a task, a router and a response stream,
/// for a resource that is asked thousands of times a second. Nothing in it may wait. Larger bodies than are usual, where the path allows
/// them, are handed to it in a task.
package struct DirectEndpoint: Sendable {
    /// Takes what is wrong, or nil for status 200 with an empty body; to be called once, on any thread.
    package typealias Answer = @Sendable (Problem?) -> Void

    let handle: @Sendable (_ fields: HTTPHeaders, _ body: ByteBuffer, _ answer: @escaping Answer) -> Void

    package init(_ handle: @escaping @Sendable (_ fields: HTTPHeaders, _ body: ByteBuffer, _ answer: @escaping Answer) -> Void) {
        self.handle = handle
    }
}
