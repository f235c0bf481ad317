import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

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
}

extension ExchangeError {
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
