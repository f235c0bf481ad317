import NIOCore

/// Asks an HTTP proxy for a connection to the endpoint (RFC 9110 §9.3.6), and removes itself when there is one.
final class ProxyTunnelHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let maximumHeadBytes = 8192

    private let request: String
    private let established: EventLoopPromise<Void>
    private let deadline: NIODeadline
    private var timeout: Scheduled<Void>?
    private var received: [UInt8] = []

    /// - Parameters:
    ///   - target: host and port of the endpoint.
    ///   - deadline: until when the proxy must have answered.
    ///   - established: succeeds when the connection leads to the endpoint.
    init(target: String, authorization: String?, deadline: NIODeadline, established: EventLoopPromise<Void>) {
        let credentials = authorization.map { "Proxy-Authorization: \($0)\r\n" } ?? ""
        request = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\(credentials)\r\n"
        self.deadline = deadline
        self.established = established
    }

    func channelActive(context: ChannelHandlerContext) {
        timeout = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.fail(context, .proxyFailed("the proxy does not answer in time"))
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytesView
        guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else {
            if received.count > Self.maximumHeadBytes { fail(context, .proxyFailed("the proxy does not answer as one")) }
            return
        }
        let line = received.prefix { $0 != UInt8(ascii: "\r") }.split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard line.count >= 2, line[0].starts(with: Array("HTTP/1.".utf8)), let status = Int(String(decoding: line[1], as: UTF8.self))
        else {
            return fail(context, .proxyFailed("the proxy does not answer as one"))
        }
        switch status {
        // An endpoint speaks only when it is spoken to.
        case 200...299 where end.upperBound == received.count:
            timeout?.cancel()
            context.pipeline.syncOperations.removeHandler(self).cascade(to: established)
        // The proxy could not reach the endpoint.
        case 502, 503, 504: fail(context, DeliveryFailure(kind: .failed, text: "the proxy cannot connect to it: status \(status)"))
        default: fail(context, .proxyFailed("the proxy refuses to connect: status \(status)"))
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        timeout?.cancel()
        established.fail(DeliveryFailure.proxyFailed("the proxy closed the connection"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(context, .proxyFailed("the connection to the proxy broke: \(DeliveryFailure(error).text)"))
    }

    private func fail(_ context: ChannelHandlerContext, _ failure: DeliveryFailure) {
        established.fail(failure)
        context.close(promise: nil)
    }
}

extension DeliveryFailure {
    static func proxyFailed(_ text: String) -> DeliveryFailure { DeliveryFailure(kind: .proxyFailed, text: text) }
}
