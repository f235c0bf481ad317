import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import StoreSimulator

/// Posts a notification as the App Store does, and says what became of it in the App Store's words.
enum NotificationPost {
    /// - Parameter rootPEM: the root that the server's certificate must come from; nil trusts the system's.
    static func send(
        _ body: [UInt8],
        to address: String,
        trusting rootPEM: String?,
        timeout: TimeAmount
    ) -> EventLoopFuture<SendAttemptResult> {
        SimulatedHTTP.codec
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let result = loop.makePromise(of: SendAttemptResult.self)
        guard let url = URLComponents(string: address), let host = url.host, let scheme = url.scheme else {
            result.succeed(.other)
            return result.futureResult
        }
        let isSecure = scheme == "https"
        let port = url.port ?? (isSecure ? 443 : 80)
        var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: url.percentEncodedPath.isEmpty ? "/" : url.percentEncodedPath)
        head.headers = [
            "host": "\(host):\(port)", "content-type": "application/json", "content-length": String(body.count), "connection": "close",
        ]
        let request = head
        ClientBootstrap(group: loop)
            .connectTimeout(timeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if isSecure { try channel.pipeline.syncOperations.addHandler(Self.tls(host, rootPEM)) }
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    let handler = NotificationPostHandler(request, body, result, timeout: timeout)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(host: host, port: port)
            .whenFailure { _ in result.succeed(.socketIssue) }
        return result.futureResult
    }

    private static func tls(_ host: String, _ rootPEM: String?) throws -> NIOSSLClientHandler {
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let rootPEM { configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(rootPEM.utf8))) }
        // An address is no server name (RFC 6066 §3).
        let isAddress = host.contains(":") || host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || ($0 >= 0x30 && $0 <= 0x39) }
        return try NIOSSLClientHandler(context: NIOSSLContext(configuration: configuration), serverHostname: isAddress ? nil : host)
    }
}

/// Sends one request over a connection and reads the status of the response.
private final class NotificationPostHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let head: HTTPRequestHead
    private let body: [UInt8]
    private let result: EventLoopPromise<SendAttemptResult>
    private let timeout: TimeAmount
    private var timer: Scheduled<Void>?

    init(_ head: HTTPRequestHead, _ body: [UInt8], _ result: EventLoopPromise<SendAttemptResult>, timeout: TimeAmount) {
        self.head = head
        self.body = body
        self.result = result
        self.timeout = timeout
    }

    func channelActive(context: ChannelHandlerContext) {
        let (channel, result) = (context.channel, result)
        timer = context.eventLoop.scheduleTask(in: timeout) {
            result.succeed(.timedOut)
            channel.close(promise: nil)
        }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let response) = unwrapInboundIn(data) else { return }
        end(SendAttemptResult(status: Int(response.status.code)), context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(error is NIOSSLError || error is BoringSSLError ? .tlsIssue : .socketIssue, context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(.prematureClose, context)
    }

    /// Only the first result counts.
    private func end(_ value: SendAttemptResult, _ context: ChannelHandlerContext) {
        timer?.cancel()
        result.succeed(value)
        context.close(promise: nil)
    }
}
