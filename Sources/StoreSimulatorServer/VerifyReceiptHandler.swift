import Glibc
import NIOCore
import NIOHTTP1
import StoreSimulator

/// Reads the questions of one connection, and answers them as the server says.
final class VerifyReceiptHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let server: VerifyReceiptServer
    private let host: SimulatedReceiptHost
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    /// Nobody asks with more; who does is not worth an answer.
    private static let maximumBodyBytes = 16 * 1024 * 1024

    init(server: VerifyReceiptServer, host: SimulatedReceiptHost) {
        self.server = server
        self.host = host
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
        case .body(let bytes):
            body += bytes.readableBytesView
            if body.count > Self.maximumBodyBytes { context.close(promise: nil) }
        case .end:
            guard let head else { return }
            let reply = server.reply(to: body, isPosted: head.method == .POST, at: host)
            VerifyReceiptWire(channel: context.channel, reply: reply, isKeptAlive: head.isKeepAlive).send { server.hold($0) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A caller who goes away or speaks no HTTP has no answer to wait for.
        context.close(promise: nil)
    }
}

/// Puts a reply on a connection.
struct VerifyReceiptWire: Sendable {
    let channel: any Channel
    let reply: VerifyReceiptReply
    /// Whether the connection is to be used again.
    let isKeptAlive: Bool

    /// - Parameter hold: keeps what is to be done until somebody wants it.
    func send(hold: (@escaping @Sendable () -> Void) -> Void) {
        switch reply.manner {
        case .atOnce: sendAll()
        case .after(let silence): channel.eventLoop.scheduleTask(in: TimeAmount(silence)) { sendAll() }
        case .whenReleased: hold { sendAll() }
        case .trickling(let pause):
            write(head(length: nil))
            let drop = TimeAmount(pause)
            let task = channel.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: drop) { _ in write([UInt8(ascii: " ")]) }
            channel.closeFuture.whenComplete { _ in task.cancel() }
        case .cut(let count):
            write(head(length: reply.body.count))
            write(Array(reply.body.prefix(count)), then: true)
        case .reset:
            // Closed with data that nobody waits for, the connection is reset.
            let closed = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
            (closed ?? channel.eventLoop.makeSucceededVoidFuture()).whenComplete { _ in channel.close(mode: .all, promise: nil) }
        }
    }

    private func sendAll() {
        write(head(length: reply.body.count))
        write(reply.body)
        let end = channel.writeAndFlush(HTTPServerResponsePart.end(nil))
        if !isKeptAlive { end.whenComplete { _ in channel.close(promise: nil) } }
    }

    /// - Parameter length: nil sends the body in chunks, as many as there may be.
    private func head(length: Int?) -> HTTPResponseHead {
        var headers = HTTPHeaders(reply.headers.map { ($0.name, $0.value) })
        let (name, value) = length.map { ("content-length", String($0)) } ?? ("transfer-encoding", "chunked")
        headers.add(name: name, value: value)
        if !isKeptAlive { headers.add(name: "connection", value: "close") }
        return HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: reply.status), headers: headers)
    }

    private func write(_ head: HTTPResponseHead) {
        channel.writeAndFlush(HTTPServerResponsePart.head(head), promise: nil)
    }

    private func write(_ bytes: [UInt8], then closes: Bool = false) {
        let written = channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: bytes))))
        if closes { written.whenComplete { _ in channel.close(promise: nil) } }
    }
}
