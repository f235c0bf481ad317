import NIOCore
import NIOHTTP1

/// One POST on a connection, and the promise of its answer.
struct PostExchange: Sendable {
    struct Answered: Sendable {
        let answer: NotificationPost.Answer
        /// Whether the connection can carry another one.
        let keepsConnection: Bool
    }

    let head: HTTPRequestHead
    let body: ByteBuffer
    let answered: EventLoopPromise<Answered>
}

/// Turns an exchange into a request, and the response into its answer; one at a time. Stays on its channel's event loop.
final class PostExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = Never
    typealias OutboundIn = PostExchange
    typealias OutboundOut = HTTPClientRequestPart

    private var current: EventLoopPromise<PostExchange.Answered>?
    private var answered: PostExchange.Answered?

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let exchange = unwrapOutboundIn(data)
        current = exchange.answered
        context.write(wrapOutboundOut(.head(exchange.head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(exchange.body))), promise: nil)
        context.write(wrapOutboundOut(.end(nil)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            let seconds = head.headers.first(name: "retry-after").flatMap { UInt32($0) }
            let answer = NotificationPost.Answer(status: Int(head.status.code), retryAfter: seconds.map { .seconds(Int64($0)) })
            answered = PostExchange.Answered(answer: answer, keepsConnection: head.isKeepAlive)
        case .body: break
        case .end:
            if let answered { current?.succeed(answered) }
            (current, answered) = (nil, nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(with: ChannelError.eof)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(with: error)
        context.close(promise: nil)
    }

    private func end(with error: any Error) {
        current?.fail(error)
        current = nil
    }
}
