import Glibc
import NIOCore
import NIOHTTP1
import StoreSimulator

/// Sends a reply over a connection.
struct ReplyWire: Sendable {
    let channel: any Channel
    let reply: SimulatedReply
    /// Whether the connection stays open after the reply.
    let isKeptAlive: Bool

    /// - Parameter hold: keeps the answer until it is released.
    func send(hold: (@escaping @Sendable () -> Void) -> Void) {
        switch reply.manner {
        case .atOnce: sendAll()
        case .after(let silence): channel.eventLoop.scheduleTask(in: TimeAmount(silence)) { sendAll() }
        case .whenReleased: hold { sendAll() }
        case .thenClosed: sendAll(thenCloses: true)
        case .never: break
        case .trickling(let pause):
            write(head(length: nil))
            let drop = TimeAmount(pause)
            let task = channel.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: drop) { _ in write([UInt8(ascii: " ")]) }
            channel.closeFuture.whenComplete { _ in task.cancel() }
        case .cut(let count):
            write(head(length: reply.body.count))
            write(Array(reply.body.prefix(count)), then: true)
        case .reset:
            // A connection that is closed with unread data is reset.
            let closed = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
            (closed ?? channel.eventLoop.makeSucceededVoidFuture()).whenComplete { _ in channel.close(mode: .all, promise: nil) }
        }
    }

    private func sendAll(thenCloses: Bool = false) {
        write(head(length: reply.body.count))
        write(reply.body)
        let end = channel.writeAndFlush(HTTPServerResponsePart.end(nil))
        if thenCloses || !isKeptAlive { end.whenComplete { _ in channel.close(promise: nil) } }
    }

    /// - Parameter length: the length of the body; nil sends it in chunks.
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
