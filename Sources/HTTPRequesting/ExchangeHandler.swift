import NIOCore
import NIOHTTP1
import NIOSSL

/// A request, and the promise of its answer.
struct PendingExchange: Sendable {
    let request: HTTPRequest
    let deadline: NIODeadline
    let answer: EventLoopPromise<ReceivedAnswer>
}

/// Sends one request at a time on a connection, and reads its answer up to a limit. A write succeeds when the handler has taken the request;
/// from then on the promise of its answer tells how it ends, and why: a write that TLS refuses fails before the reason arrives.
///
/// Once the head of an answer has arrived, the promise succeeds, whatever becomes of the rest: the server has decided by then.
final class ExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = PendingExchange
    typealias OutboundOut = HTTPClientRequestPart

    private struct Running {
        let pending: PendingExchange
        let deadline: Scheduled<Void>
        /// Whether the whole request has left this process.
        var isSent = false
        var answer: ReceivedAnswer?
        /// Whether the answer has been read to its end.
        var isWhole = false
    }

    private let meter: AnswerMeter
    private var running: Running?
    private var hasAnswered = false
    private var isSendingHead = false
    /// What has closed, or will close, the connection.
    private var failure: ExchangeError?

    init(_ meter: AnswerMeter) {
        self.meter = meter
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let pending = unwrapOutboundIn(data)
        if let failure {
            promise?.fail(hasAnswered ? ExchangeError.reusedConnectionClosed : failure)
            return
        }
        let deadline = context.eventLoop.assumeIsolated().scheduleTask(deadline: pending.deadline) { self.finish(context, .timedOut) }
        running = Running(pending: pending, deadline: deadline)
        meter.start(maximumBytes: pending.request.maximumBytes)
        promise?.succeed()
        isSendingHead = true
        context.write(wrapOutboundOut(.head(pending.request.head)), promise: nil)
        isSendingHead = false
        // A field that cannot be sent ends the exchange at once.
        guard failure == nil else { return }
        if !pending.request.body.isEmpty {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: pending.request.body)))), promise: nil)
        }
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenSuccess { self.running?.isSent = true }
        context.write(wrapOutboundOut(.end(nil)), promise: sent)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            guard running != nil else { return finish(context, .unexpected) }
            // The decoder drops interim answers. 101 would change to a protocol that was not asked for; other statuses do not exist.
            guard (200...599).contains(head.status.code) else { return finish(context, .unknownStatus(head.status.code)) }
            running?.answer = ReceivedAnswer(status: Int(head.status.code), headers: head.headers)
            running?.answer?.isReusable = head.isKeepAlive
        case .body(let buffer):
            guard let request = running?.pending.request else { return }
            // In its place: a copy of the answer would copy all of the body that is there.
            running?.answer?.append(buffer.readableBytesView, keeping: request.keptBytes ?? request.maximumBytes)
            if let count = running?.answer?.byteCount, count > request.maximumBytes { finish(context, .tooLarge) }
        case .end:
            guard let running, let answer = running.answer else { return }
            self.running?.isWhole = true
            // What was not sent would stand before the next request.
            guard answer.isReusable, running.isSent else { return finish(context, .reusedConnectionClosed) }
            hasAnswered = true
            complete(with: .reusedConnectionClosed)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(context, running == nil || isUnanswered ? .reusedConnectionClosed : .connectionClosed)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let failure =
            switch error {
            case is HTTPParserError where isSendingHead: ExchangeError.unsendable
            case is IOError where isUnanswered, NIOSSLError.uncleanShutdown where isUnanswered: ExchangeError.reusedConnectionClosed
            default: ExchangeError(error)
            }
        finish(context, failure)
    }

    /// Whether the connection has carried another exchange, and not one byte since the request: the server may have closed it before.
    private var isUnanswered: Bool { hasAnswered && !meter.hasRead }

    /// Ends the exchange and the connection.
    private func finish(_ context: ChannelHandlerContext, _ failure: ExchangeError) {
        self.failure = self.failure ?? failure
        running?.answer?.isReusable = false
        complete(with: self.failure ?? failure)
        context.close(promise: nil)
    }

    private func complete(with failure: ExchangeError) {
        guard let running else { return }
        self.running = nil
        running.deadline.cancel()
        guard var answer = running.answer else { return running.pending.answer.fail(failure) }
        if !running.isWhole { answer.failure = failure }
        running.pending.answer.succeed(answer)
    }
}

/// Counts what is read since a request: interim answers, heads, trailers and the extensions of chunks have no limit of their own.
final class AnswerMeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// For all that is no body. The decoder accepts fields of 80 kB.
    private static let overhead = 262_144

    private var left = overhead
    /// Whether anything was read since the request.
    private(set) var hasRead = false

    func start(maximumBytes: Int) {
        // A body in small chunks has a frame for each.
        left = 2 * maximumBytes + Self.overhead
        hasRead = false
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hasRead = true
        left -= unwrapInboundIn(data).readableBytes
        guard left >= 0 else { return context.fireErrorCaught(ExchangeError.tooLarge) }
        context.fireChannelRead(data)
    }
}

extension ExchangeError {
    fileprivate static let tooLarge = ExchangeError(.tooLarge, "the answer is too long")
    fileprivate static let unsendable = ExchangeError(.invalidRequest, "a field of the request cannot be sent")
    fileprivate static let unexpected = ExchangeError(.invalidAnswer, "an answer without a request")
    fileprivate static let connectionClosed = ExchangeError(.connectionFailed, "the connection was closed before an answer")

    fileprivate static func unknownStatus(_ status: UInt) -> ExchangeError {
        ExchangeError(.invalidAnswer, "the answer has the status \(status), which does not exist")
    }
}
