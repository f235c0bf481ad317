import NIOCore
import NIOHTTP1
import StoreSimulator

/// Reads the requests of one connection and sends the replies of a simulated host.
final class SimulatedHostHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// Answers a request.
    typealias Respond = @Sendable (HTTPRequestHead, [UInt8]) -> SimulatedReply

    private let respond: Respond
    private let hold: @Sendable (@escaping @Sendable () -> Void) -> Void
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    /// The connection of a larger request is closed.
    private static let maximumBodyBytes = 16 * 1024 * 1024

    /// - Parameter hold: keeps an answer until it is released.
    init(respond: @escaping Respond, hold: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.respond = respond
        self.hold = hold
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
            ReplyWire(channel: context.channel, reply: respond(head, body), isKeptAlive: head.isKeepAlive).send(hold: hold)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The client has disconnected, or does not speak HTTP.
        context.close(promise: nil)
    }
}
