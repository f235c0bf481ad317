import NIOCore
import NIOHTTP1

/// A request, and the promise of its answer.
struct PendingExchange: Sendable {
    let head: HTTPRequestHead
    let body: [UInt8]
    let deadline: NIODeadline
    let answer: EventLoopPromise<ReceivedAnswer>
}

/// What was read of an answer.
struct ReceivedAnswer: Sendable {
    let head: HTTPResponseHead
    var body: [UInt8] = []
    var byteCount = 0
    /// Whether the connection can carry another request.
    var isReusable = false
}

/// Sends one request at a time on a connection, and reads its answer up to a limit. A write succeeds when the handler has taken the request;
/// from then on the promise of its answer tells how it ends, and why: a write that TLS refuses fails before the reason arrives.
///
/// Once the head of an answer has arrived, its status counts, whatever becomes of the rest: the endpoint has decided by then.
final class ExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = PendingExchange
    typealias OutboundOut = HTTPClientRequestPart

    private struct Running {
        let pending: PendingExchange
        let deadline: Scheduled<Void>
        var answer: ReceivedAnswer?
    }

    private var running: Running?
    private var hasAnswered = false
    /// What has closed, or will close, the connection.
    private var failure: DeliveryFailure?

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let pending = unwrapOutboundIn(data)
        if let failure {
            promise?.fail(failure)
            return
        }
        let deadline = context.eventLoop.assumeIsolated().scheduleTask(deadline: pending.deadline) { self.finish(context, .timedOut) }
        running = Running(pending: pending, deadline: deadline)
        context.write(wrapOutboundOut(.head(pending.head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: pending.body)))), promise: nil)
        context.write(wrapOutboundOut(.end(nil)), promise: nil)
        promise?.succeed()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            guard running != nil else { return finish(context, .unexpected) }
            running?.answer = ReceivedAnswer(head: head)
        case .body(let buffer):
            guard var answer = running?.answer else { return }
            let space = DeliveryAnswer.keptBytes - answer.body.count
            if space > 0 { answer.body += buffer.readableBytesView.prefix(space) }
            answer.byteCount += buffer.readableBytes
            running?.answer = answer
            if answer.byteCount >= DeliveryAnswer.maximumBytes { finish(context, .tooLong) }
        case .end:
            guard let isKept = running?.answer?.head.isKeepAlive else { return }
            guard isKept else { return finish(context, .reusedConnectionClosed) }
            running?.answer?.isReusable = true
            hasAnswered = true
            complete(with: .reusedConnectionClosed)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(context, running == nil || hasAnswered ? .reusedConnectionClosed : .connectionClosed)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(context, hasAnswered && error is IOError ? .reusedConnectionClosed : DeliveryFailure(error))
    }

    /// Ends the exchange and the connection.
    private func finish(_ context: ChannelHandlerContext, _ failure: DeliveryFailure) {
        self.failure = self.failure ?? failure
        complete(with: self.failure ?? failure)
        context.close(promise: nil)
    }

    private func complete(with failure: DeliveryFailure) {
        guard let running else { return }
        self.running = nil
        running.deadline.cancel()
        if let answer = running.answer { running.pending.answer.succeed(answer) } else { running.pending.answer.fail(failure) }
    }
}

extension DeliveryFailure {
    fileprivate static let tooLong = DeliveryFailure(kind: .failed, text: "the answer is too long")
    fileprivate static let unexpected = DeliveryFailure(kind: .failed, text: "an answer without a request")
    fileprivate static let connectionClosed = DeliveryFailure(kind: .failed, text: "the connection was closed before an answer")
}
