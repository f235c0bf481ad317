package import NIOCore
package import NIOHTTP1

/// An answer. The fields that frame its body and Date are added when it is written.
package struct Response: Sendable {
    /// What follows the head.
    package enum Body: Sendable {
        case bytes(ByteBuffer)
        /// A task writes it piece by piece. The connection ends with it.
        case stream(@Sendable (ResponseWriter) async -> Void)
    }

    package var status: HTTPResponseStatus
    package var headers: HTTPHeaders
    package var body: Body

    package init(status: HTTPResponseStatus, headers: HTTPHeaders = [:], body: ByteBuffer = ByteBuffer()) {
        (self.status, self.headers, self.body) = (status, headers, .bytes(body))
    }

    /// Status 200 with a body that is written piece by piece.
    package init(headers: HTTPHeaders, stream: @escaping @Sendable (ResponseWriter) async -> Void) {
        (status, self.headers, body) = (.ok, headers, .stream(stream))
    }

    /// Status 200 with an empty body.
    package static let empty = Response(status: .ok)

    /// Status 200 with a text body.
    package init(text: String, mediaType: String = "text/plain; charset=utf-8") {
        self.init(status: .ok, headers: ["content-type": mediaType], body: ByteBuffer(string: text))
    }
}
