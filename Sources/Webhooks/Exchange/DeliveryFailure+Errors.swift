import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

extension DeliveryFailure {
    /// The failure that an error of a connection means.
    init(_ error: any Error) {
        self =
            switch error {
            case let error as DeliveryFailure: error
            case let error as IOError: .failed(String(cString: strerror(error.errnoCode)))
            case ChannelError.connectTimeout: .failed("no connection in time")
            case ChannelError.ioOnClosedChannel, ChannelError.alreadyClosed: .reusedConnectionClosed
            case NIOSSLError.uncleanShutdown: .failed("the connection was closed")
            case NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])): .failed("the connection was closed in the TLS handshake")
            case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
                DeliveryFailure(kind: .refused, text: "TLS: \(String("\(error)".prefix(200)))")
            case is HTTPParserError: .failed("the answer is not HTTP: \(error)")
            default: .failed(String("\(error)".prefix(200)))
            }
    }

    static func failed(_ text: String) -> DeliveryFailure { DeliveryFailure(kind: .failed, text: text) }
}
