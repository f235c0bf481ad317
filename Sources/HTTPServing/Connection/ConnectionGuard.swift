import Hummingbird
import Logging
import NIOCore
import NIOHTTP1

/// Stands between the HTTP/1.1 codec and Hummingbird and lets only whole, bounded requests pass, one at a time; those that have a
/// ``DirectEndpoint``, and a body of usual size, go to it and not any further.
///
/// It adds what Hummingbird does not have: a deadline for the whole request, limits that hold before a body is read, 100 (Continue),
/// answers 408, 413 and 431 that end the connection, and a grace limit at shutdown.
final class ConnectionGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    let admission: Admission
    let metrics: ListenerMetrics
    let limits: ConnectionLimits
    /// Who answers on the event loop, by path; all else is Hummingbird's.
    let directEndpoints: [String: DirectEndpoint]
    let logger: Logger
    var state: ConnectionState
    /// The request that is being received.
    var head: HTTPRequestHead?
    var body: ByteBuffer?
    /// What this connection has reserved for its request.
    var reservation = BodyReservation.none
    /// What came after a request that is still being answered.
    var held: [HTTPServerRequestPart] = []
    var heldBytes = 0
    var heldRefusal: Problem?
    var isReadHeld = false
    let timer = ConnectionTimer()

    init(
        admission: Admission,
        metrics: ListenerMetrics,
        limits: ConnectionLimits,
        directEndpoints: [String: DirectEndpoint] = [:],
        logger: Logger
    ) {
        self.admission = admission
        self.metrics = metrics
        self.limits = limits
        self.directEndpoints = directEndpoints
        self.logger = logger
        state = ConnectionState(limits: limits, now: .distantFuture)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        metrics.opened()
        state = ConnectionState(limits: limits, now: context.eventLoop.now)
        timer.start(context: context) { [unowned self] in timeReached(context: context) }
        timer.wake(at: state.deadline)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        metrics.closed()
        timer.stop()
        releaseReservation()
    }

    func channelInactive(context: ChannelHandlerContext) {
        state.closed()
        timer.stop()
        releaseReservation()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        switch state.phase {
        case .idle, .receiving: receive(part, context: context)
        case .answering: hold(part, context: context)
        case .lingering, .closed: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // Bytes that are not yet a head start the deadline too.
        state.bytesArrived(now: context.eventLoop.now)
        timer.wake(at: state.deadline)
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        guard case .answering = state.phase else { return context.read() }
        isReadHeld = true
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var answer):
            if state.isLastAnswer {
                answer.headers.replaceOrAdd(name: "connection", value: "close")
            } else if head?.version == .http1_0 {
                answer.headers.replaceOrAdd(name: "connection", value: "keep-alive")
            }
            context.write(wrapOutboundOut(.head(answer)), promise: promise)
        case .body:
            context.write(data, promise: promise)
        case .end:
            context.write(data, promise: promise)
            answerCompleted(context: context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch (state.phase, error) {
        case (.lingering, _), (.closed, _):
            break
        case (_, HTTPParserError.invalidEOFState):
            close(context: context)
        case (.answering, is HTTPParserError):
            heldRefusal = heldRefusal ?? Problem(parserError: error)
        case (_, is HTTPParserError):
            refuse(Problem(parserError: error), context: context)
        default:
            logger.debug("connection failed", metadata: [LogKey.connectionError: "\(error)"])
            close(context: context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed:
            if state.inputClosed() { close(context: context) }
        case is ChannelShouldQuiesceEvent:
            if state.shutDown(now: context.eventLoop.now) { close(context: context) }
            timer.wake(at: state.deadline)
        default:
            context.fireUserInboundEventTriggered(event)
        }
    }
}
