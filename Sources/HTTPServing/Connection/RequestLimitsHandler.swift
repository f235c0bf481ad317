import Hummingbird
import Logging
import NIOCore
import NIOHTTP1

/// A channel handler between the HTTP/1.1 codec and Hummingbird that passes on only complete requests within the limits, one at a time.
/// It answers a request itself when its path has an ``EventLoopEndpoint`` and its body is of usual size.
///
/// It adds what Hummingbird lacks:
/// - a deadline for the whole request,
/// - limits that apply before a body is read,
/// - 100 (Continue),
/// - 408, 413 and 431 answers that end the connection,
/// - a grace period at shutdown.
final class RequestLimitsHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    let admission: Admission
    let metrics: ListenerMetrics
    let limits: ConnectionLimits
    /// The endpoints that answer on the event loop, by path. Hummingbird answers all other requests.
    let eventLoopEndpoints: [String: EventLoopEndpoint]
    let logger: Logger
    var state: ConnectionState
    /// The current request.
    var head: HTTPRequestHead?
    var body: ByteBuffer?
    /// The memory reserved for the current request.
    var reservation = MemoryReservation.none
    /// The parts of pipelined requests, buffered until the current request is answered.
    var pipelined: [HTTPServerRequestPart] = []
    var pipelinedBytes = 0
    var pipelinedRefusal: Problem?
    var isReadPending = false
    let timer = ConnectionTimer()

    init(
        admission: Admission,
        metrics: ListenerMetrics,
        limits: ConnectionLimits,
        eventLoopEndpoints: [String: EventLoopEndpoint] = [:],
        logger: Logger
    ) {
        self.admission = admission
        self.metrics = metrics
        self.limits = limits
        self.eventLoopEndpoints = eventLoopEndpoints
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
        case .answering: bufferPipelined(part, context: context)
        case .lingering, .closed: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // An incomplete head also starts the deadline.
        state.bytesArrived(now: context.eventLoop.now)
        timer.wake(at: state.deadline)
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        guard case .answering = state.phase else { return context.read() }
        isReadPending = true
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
            pipelinedRefusal = pipelinedRefusal ?? Problem(parserError: error)
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
