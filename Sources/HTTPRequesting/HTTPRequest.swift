import NIOCore
package import NIOHTTP1

/// One request over HTTP/1.1, and how much of its answer is read.
package struct HTTPRequest: Sendable {
    package var method: HTTPMethod
    package var address: HTTPAddress
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// How many bytes of a body are read before the exchange fails.
    package var maximumBytes: Int
    /// How many bytes of a body are kept; nil keeps all.
    package var keptBytes: Int?

    package init(
        _ method: HTTPMethod,
        _ address: HTTPAddress,
        headers: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        maximumBytes: Int,
        keptBytes: Int? = nil
    ) {
        self.method = method
        self.address = address
        self.headers = headers
        self.body = body
        self.maximumBytes = maximumBytes
        self.keptBytes = keptBytes
    }

    /// `Host` and `Content-Length` are this module's, whatever the request's fields say.
    var head: HTTPRequestHead {
        var head = HTTPRequestHead(version: .http1_1, method: method, uri: address.target)
        for (name, value) in headers { head.headers.replaceOrAdd(name: name, value: value) }
        head.headers.replaceOrAdd(name: "host", value: address.authority)
        if !body.isEmpty || method != .GET { head.headers.replaceOrAdd(name: "content-length", value: String(body.count)) }
        return head
    }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// Shows neither fields, path nor body: they hold secrets.
    package var description: String { "\(method.rawValue) \(address)" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// What was read of an answer.
package struct ReceivedAnswer: Sendable {
    /// From 200 to 599.
    package let status: Int
    package let headers: HTTPHeaders
    /// The first bytes of the body.
    package internal(set) var body: [UInt8] = []
    /// How many bytes of the body were read.
    package internal(set) var byteCount = 0
    /// Why the rest of the answer was not read; nil for a whole one.
    package internal(set) var failure: ExchangeError?
    /// Whether the connection can carry another request.
    var isReusable = false

    init(status: Int, headers: HTTPHeaders) {
        self.status = status
        self.headers = headers
    }

    /// Adds what was read of the body.
    ///
    /// - Parameter limit: how many bytes of the body are kept.
    mutating func append(_ bytes: ByteBufferView, keeping limit: Int) {
        byteCount += bytes.count
        body += bytes.prefix(max(0, limit - body.count))
    }
}

extension ReceivedAnswer: CustomStringConvertible, CustomReflectable {
    /// Shows only the length of the body.
    package var description: String { "status \(status), \(byteCount) bytes" }
    package var customMirror: Mirror { Mirror(self, children: ["status": status]) }
}
