import NIOCore
import NIOHTTP1
import StoreSimulator

/// Reads the requests of one connection and sends the replies of a simulated host.
final class SimulatedHostHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// Answers a request. `then` is called when the answer is sent or held.
    typealias Respond = @Sendable (HTTPRequestHead, [UInt8]) -> (reply: SimulatedReply, then: @Sendable () -> Void)

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
            let (reply, then) = respond(head, body)
            ReplyWire(channel: context.channel, reply: reply, isKeptAlive: head.isKeepAlive).send(hold: hold)
            then()
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The client has disconnected, or does not speak HTTP.
        context.close(promise: nil)
    }
}
