import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import StoreSimulator
import Synchronization

/// A server on the loopback interface that records requests and answers as the test says.
final class Receiver: Sendable {
    struct Request: Sendable {
        let target: String
        let headers: HTTPHeaders
        let body: [UInt8]
        let at: ContinuousClock.Instant

        var id: String { headers.first(name: "webhook-id") ?? "" }
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    enum Reply: Sendable {
        case status(Int, [(String, String)] = [], body: [UInt8] = [])
        case after(Duration, status: Int)
        /// Never.
        case silence
        /// Closes the connection: before an answer, or within its body.
        case breakOff(afterHead: Bool = false)
        /// Status 200, and a body of so many bytes.
        case large(Int)
        /// Status 200, and a body that never ends.
        case trickle
        /// Status 200 over a connection that is closed then.
        case close
    }

    private struct State {
        var requests: [Request] = []
        var connections = 0
        var sentBytes = 0
        var channels: [ObjectIdentifier: any Channel] = [:]
    }

    private let state = Mutex(State())
    private let reply: @Sendable (Request) -> Reply
    private let listener = Mutex<(any Channel)?>(nil)

    private init(_ reply: @escaping @Sendable (Request) -> Reply) {
        self.reply = reply
    }

    static func start(
        identity: SimulatedHostIdentity? = nil,
        host: String = "127.0.0.1",
        port: Int = 0,
        _ reply: @escaping @Sendable (Request) -> Reply = { _ in .status(204) }
    ) async throws -> Receiver {
        let receiver = Receiver(reply)
        let context = try identity.map { identity in
            let chain = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificatePEM.utf8))
            return try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: chain.map { .certificate($0) },
                    privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.keyPEM.utf8), format: .pem))
                )
            )
        }
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                receiver.track(channel)
                return channel.eventLoop.makeCompletedFuture {
                    if let context { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context)) }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: false)
                    try channel.pipeline.syncOperations.addHandler(ReceiverHandler(receiver))
                }
            }
            .bind(host: host, port: port).get()
        receiver.listener.withLock { $0 = channel }
        return receiver
    }

    var port: Int { listener.withLock { $0?.localAddress?.port ?? 0 } }
    var url: String { "http://127.0.0.1:\(port)/hook" }
    var requests: [Request] { state.withLock(\.requests) }
    var connections: Int { state.withLock(\.connections) }
    var sentBytes: Int { state.withLock(\.sentBytes) }

    func stop() async {
        let open = (listener.withLock(\.self).map { [$0] } ?? []) + state.withLock { Array($0.channels.values) }
        for channel in open { channel.close(promise: nil) }
        for channel in open { await withCheckedContinuation { done in channel.closeFuture.whenComplete { _ in done.resume() } } }
    }

    fileprivate func receive(_ request: Request) -> Reply {
        state.withLock { $0.requests.append(request) }
        return reply(request)
    }

    fileprivate func sent(_ count: Int) { state.withLock { $0.sentBytes += count } }

    private func track(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        state.withLock { ($0.channels[id], $0.connections) = (channel, $0.connections + 1) }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.channels[id] = nil } }
    }
}

private final class ReceiverHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let receiver: Receiver
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(_ receiver: Receiver) {
        self.receiver = receiver
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): (self.head, body) = (head, [])
        case .body(let bytes): body += bytes.readableBytesView
        case .end:
            guard let head else { return }
            answer(receiver.receive(.init(target: head.uri, headers: head.headers, body: body, at: .now)), on: context.channel)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func answer(_ reply: Receiver.Reply, on channel: any Channel) {
        let receiver = receiver
        switch reply {
        case .status(let status, let fields, let body): Self.send(status, fields, body, on: channel)
        case .after(let pause, let status):
            channel.eventLoop.scheduleTask(in: TimeAmount(pause)) { Self.send(status, [], [], on: channel) }
        case .silence: break
        case .breakOff(afterHead: false): channel.close(promise: nil)
        case .breakOff(afterHead: true):
            Self.head(200, [("content-length", "1000")], on: channel)
            channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: "half"))))
                .whenComplete { _ in channel.close(promise: nil) }
        case .large(let count):
            Self.head(200, [("content-length", String(count))], on: channel)
            Self.pump(count, to: channel, receiver)
        case .trickle:
            Self.head(200, [("transfer-encoding", "chunked")], on: channel)
            let task = channel.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(20)) { _ in
                channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: "."))), promise: nil)
            }
            channel.closeFuture.whenComplete { _ in task.cancel() }
        case .close:
            Self.head(200, [("content-length", "0"), ("connection", "close")], on: channel)
            channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in channel.close(promise: nil) }
        }
    }

    private static func send(_ status: Int, _ fields: [(String, String)], _ body: [UInt8], on channel: any Channel) {
        head(status, fields + (status == 204 ? [] : [("content-length", String(body.count))]), on: channel)
        if !body.isEmpty { channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil) }
        channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
    }

    private static func head(_ status: Int, _ fields: [(String, String)], on channel: any Channel) {
        let head = HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: HTTPHeaders(fields))
        channel.writeAndFlush(HTTPServerResponsePart.head(head), promise: nil)
    }

    /// Sends as fast as the client reads.
    private static func pump(_ left: Int, to channel: any Channel, _ receiver: Receiver) {
        guard left > 0 else { return channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil) }
        let count = min(left, 65_536)
        channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(repeating: 0x2e, count: count)))).whenSuccess {
            receiver.sent(count)
            pump(left - count, to: channel, receiver)
        }
    }
}
