package import NIOCore
package import NIOHTTP1

/// An answer. Content-Length and Date are added when it is written.
package struct Response: Sendable {
    package var status: HTTPResponseStatus
    package var headers: HTTPHeaders
    package var body: ByteBuffer

    package init(status: HTTPResponseStatus, headers: HTTPHeaders = [:], body: ByteBuffer = ByteBuffer()) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// Status 200 with an empty body.
    package static let empty = Response(status: .ok)

    /// Status 200 with a text body.
    package init(text: String, mediaType: String = "text/plain; charset=utf-8") {
        self.init(status: .ok, headers: ["content-type": mediaType], body: ByteBuffer(string: text))
    }
}
