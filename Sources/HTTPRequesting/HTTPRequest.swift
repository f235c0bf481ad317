import Glibc
import NIOCore
package import NIOHTTP1
import NIOPosix
import NIOSSL

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
    package private(set) var body: [UInt8] = []
    /// How many bytes of the body were read.
    package private(set) var byteCount = 0
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

/// Why a request has no whole answer. The text names what is wrong, without a payload, a field or a path.
package struct ExchangeError: Error, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// The deadline has passed, or no connection was made in time.
        case timedOut
        /// The task was cancelled.
        case cancelled
        /// The connection could not be opened, or it broke.
        case connectionFailed
        /// The server's certificate is not trusted, or the TLS handshake failed.
        case tlsFailed
        /// The address is malformed, or a field of the request cannot be sent.
        case invalidRequest
        /// What the server sends is no answer of HTTP/1.1.
        case invalidAnswer
        /// The answer is larger than the request allows.
        case tooLarge
        /// The server closed a connection that had carried another exchange, while it was idle or as the request was on its way.
        case reusedConnectionClosed
    }

    package let kind: Kind
    package let description: String
    /// What the system, TLS or the maker of the connection reported.
    package let cause: (any Error)?

    package init(_ kind: Kind, _ description: String, cause: (any Error)? = nil) {
        self.kind = kind
        self.description = description
        self.cause = cause
    }

    static let timedOut = ExchangeError(.timedOut, "timed out")
    static let cancelled = ExchangeError(.cancelled, "cancelled")
    static let reusedConnectionClosed = ExchangeError(.reusedConnectionClosed, "the connection was closed")

    /// What an error of a connection means.
    package init(_ error: any Error) {
        self =
            switch error {
            case let error as ExchangeError: error
            case let error as NIOConnectionError:
                error.connectionErrors.first.map { ExchangeError($0.error) }
                    ?? ExchangeError(.connectionFailed, "the name cannot be resolved", cause: error)
            case let error as IOError: ExchangeError(.connectionFailed, String(cString: strerror(error.errnoCode)), cause: error)
            case ChannelError.connectTimeout: ExchangeError(.timedOut, "no connection in time")
            case ChannelError.ioOnClosedChannel, ChannelError.alreadyClosed: .reusedConnectionClosed
            case NIOSSLError.uncleanShutdown: ExchangeError(.connectionFailed, "the connection was closed")
            case NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])):
                ExchangeError(.tlsFailed, "the connection was closed in the TLS handshake", cause: error)
            case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
                ExchangeError(.tlsFailed, "TLS: \("\(error)".prefix(200))", cause: error)
            case HTTPParserError.invalidEOFState: ExchangeError(.connectionFailed, "the connection was closed within the answer")
            case is HTTPParserError, is NIOHTTPDecoderError: ExchangeError(.invalidAnswer, "the answer is not HTTP: \(error)")
            default: ExchangeError(.connectionFailed, String("\(error)".prefix(200)), cause: error)
            }
    }

    /// Whether the server hung up in the TLS handshake.
    package var isHandshakeClosed: Bool {
        if case NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake]))? = cause { true } else { false }
    }

    /// Whether the operating system refuses this user the socket.
    package var isDenied: Bool { (cause as? IOError)?.errnoCode == EACCES }
}
