import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1

@testable import HTTPServing

/// A `RequestLimitsHandler` behind the real HTTP/1.1 codec in an `EmbeddedChannel`, with a manual clock.
final class EmbeddedConnection {
    let channel: EmbeddedChannel
    let admission: Admission
    let limits: ConnectionLimits
    private let halfClosure = HalfClosure()

    init(
        limits: ConnectionLimits = ConnectionLimits(),
        admission: Admission = Admission(memoryLimit: 1 << 20, hourlyLimit: 1 << 30),
        metrics: ListenerMetrics = ListenerMetrics(listener: "test"),
        eventLoopEndpoints: [String: EventLoopEndpoint] = [:]
    ) throws {
        self.limits = limits
        self.admission = admission
        channel = EmbeddedChannel()
        let pipeline = channel.pipeline.syncOperations
        let decoderLimits = NIOHTTPDecoderLimitConfiguration.limited(to: limits)
        try pipeline.addHandler(halfClosure)
        try pipeline.addHandler(HTTPResponseEncoder())
        try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: decoderLimits)))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        try pipeline.addHandler(
            RequestLimitsHandler(
                admission: admission,
                metrics: metrics,
                limits: limits,
                eventLoopEndpoints: eventLoopEndpoints,
                logger: logger
            )
        )
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 80), promise: nil)
    }

    /// Whether the server has closed its side, after a refusal, or the whole connection.
    var isOutputClosed: Bool { halfClosure.isOutputClosed || !channel.isActive }
    var isClosed: Bool { !channel.isActive }

    func send(_ text: String) throws {
        try channel.writeInbound(ByteBuffer(string: text))
    }

    /// The bodies of the requests passed on since the last call.
    func requests() throws -> [String] {
        var bodies: [String] = []
        while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
            switch part {
            case .head: bodies.append("")
            case .body(let bytes): bodies[bodies.count - 1] += String(buffer: bytes)
            case .end: break
            }
        }
        return bodies
    }

    /// Answers the oldest request as an application would.
    func answer() throws {
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "0"])
        channel.write(HTTPServerResponsePart.head(head), promise: nil)
        channel.write(HTTPServerResponsePart.end(nil), promise: nil)
        channel.flush()
        channel.embeddedEventLoop.run()
    }

    /// The bytes sent to the client since the last call.
    func answers() throws -> String {
        var text = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        return text
    }

    func advance(by time: TimeAmount) {
        channel.embeddedEventLoop.advanceTime(by: time)
    }
}

extension NIOHTTPDecoderLimitConfiguration {
    fileprivate static func limited(to limits: ConnectionLimits) -> NIOHTTPDecoderLimitConfiguration {
        var configuration = NIOHTTPDecoderLimitConfiguration()
        configuration.maxHeaderFieldSize = limits.maximumHeadBytes
        configuration.maxHeaderListSize = limits.maximumHeadBytes
        configuration.maxHeaderFieldCount = limits.maximumHeadFields
        return configuration
    }
}

/// Records that the output was closed: an embedded channel would close completely.
private final class HalfClosure: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private(set) var isOutputClosed = false

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .output else { return context.close(mode: mode, promise: promise) }
        isOutputClosed = true
        promise?.succeed()
    }
}
