package import NIOCore
package import NIOHTTP1

/// A complete request.
package struct Request: Sendable {
    package let method: HTTPMethod
    /// The path of the target, not decoded.
    package let path: String
    /// The query of the target, not decoded; nil without a question mark.
    package let query: String?
    package let headers: HTTPHeaders
    package let body: ByteBuffer
    /// The values of the variable segments of the path, percent-decoded once.
    package var values: [String: String] = [:]

    init(_ head: HTTPRequestHead, body: ByteBuffer) {
        let target = RequestTarget(head.uri)
        (path, query) = (target.path, target.query)
        (method, headers, self.body) = (head.method, head.headers, body)
    }

    /// The value of a field, with repeated fields joined by commas (RFC 9110, section 5.3).
    package func field(_ name: String) -> String? {
        let values = headers[name]
        return values.count < 2 ? values.first : values.joined(separator: ", ")
    }
}
