import Logging
import NIOCore
import NIOHTTP1

/// The channel handler behind the HTTP/1.1 codec: it receives requests within the limits, one at a time, and dispatches each to its endpoint.
///
/// - The deadline is for the whole request, and the limits apply before a body is read.
/// - A request that is refused before it is complete is answered, and ends the connection.
/// - While an endpoint answers, or the client does not take the answer, nothing is read and no request runs.
/// - At shutdown, a request that has begun is still answered within the grace period.
final class ConnectionHandler: ChannelInboundHandler, ChannelOutboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = Never
    typealias OutboundIn = Never
    typealias OutboundOut = HTTPServerResponsePart
    /// Runs an endpoint outside of the event loop.
    typealias RunTask = @Sendable (@escaping @Sendable () async -> Void) -> Void

    private let routes: Routes
    private let metrics: ListenerMetrics
    private let limits: ListenerLimits
    private let runTask: RunTask
    private let logger: Logger
    private var state: ConnectionState
    private let timer = ConnectionTimer()

    /// - Parameter now: the time of the connection's event loop.
    init(
        routes: Routes,
        admission: Admission,
        metrics: ListenerMetrics,
        limits: ListenerLimits,
        logger: Logger,
        now: NIODeadline,
        runTask: @escaping RunTask
    ) {
        self.routes = routes
        self.metrics = metrics
        self.limits = limits
        self.logger = logger
        self.runTask = runTask
        state = ConnectionState(limits: limits, admission: admission, now: now)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        metrics.opened()
        timer.start(context: context) { [unowned self] in
            perform(state.timeReached(now: context.eventLoop.now), context: context)
        }
        timer.wake(at: state.deadline)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        metrics.closed()
        timer.stop()
        state.closed()
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer.stop()
        state.closed()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        perform(state.received(unwrapInboundIn(data), now: context.eventLoop.now), context: context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        state.bytesArrived(now: context.eventLoop.now)
        timer.wake(at: state.deadline)
    }

    func read(context: ChannelHandlerContext) {
        if case .read = state.readRequested() { context.read() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case HTTPParserError.invalidEOFState:
            // `ChannelEvent.inputClosed` follows.
            break
        case HTTPParserError.headerOverflow:
            perform(state.parserFailed(.headTooLarge, now: context.eventLoop.now), context: context)
        case is HTTPParserError:
            perform(state.parserFailed(.malformedRequest, now: context.eventLoop.now), context: context)
        default:
            logger.debug("connection failed", metadata: [LogKey.connectionError: "\(error)"])
            perform(state.failed(), context: context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed: perform(state.inputClosed(now: context.eventLoop.now), context: context)
        case is ChannelShouldQuiesceEvent: perform(state.shutDown(now: context.eventLoop.now), context: context)
        default: break
        }
    }

    private func perform(_ action: ConnectionState.Action, context: ChannelHandlerContext) {
        switch action {
        case .none: break
        case .read: context.read()
        case .sendContinue:
            context.writeAndFlush(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
            perform(state.nextInput(now: context.eventLoop.now), context: context)
        case .dispatch(let request): dispatch(request, context: context)
        case .refuse(let problem, let form):
            metrics.refused(problem, at: form.path.map(routes.place))
            write(problem.response, form, context: context).whenComplete { _ in context.close(mode: .output, promise: nil) }
        case .endOutput: context.close(mode: .output, promise: nil)
        case .close: context.close(promise: nil)
        }
        timer.wake(at: state.deadline)
    }

    /// Runs the endpoint of a request: on the event loop, or in a task.
    private func dispatch(_ request: Request, context: ChannelHandlerContext) {
        let connection = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        let answer: Endpoint.Answer = { [eventLoop = context.eventLoop] result in
            eventLoop.execute { connection.value.handler.answer(result, context: connection.value.context) }
        }
        do throws(Problem) {
            let (endpoint, request) = try routes.match(request)
            switch endpoint {
            case .onEventLoop(let handle):
                // Parsing a body above the usual limit would block the other connections of this event loop.
                let isUsual = request.body.readableBytes <= limits.maximumBodyBytes
                if isUsual { handle(request, answer) } else { runTask { handle(request, answer) } }
            case .inTask(let respond):
                runTask {
                    do throws(Problem) { answer(.success(try await respond(request))) } catch { answer(.failure(error)) }
                }
            }
        } catch {
            answer(.failure(error))
        }
    }

    private func answer(_ result: Result<Response, Problem>, context: ChannelHandlerContext) {
        guard state.isAnswering else { return }
        let response: Response
        switch result {
        case .success(let success):
            response = success
        case .failure(let problem):
            metrics.refused(problem, at: state.path.map(routes.place))
            response = problem.response
        }
        if case .stream(let body) = response.body, let form = state.streams() {
            stream(body, response, form, context: context)
        } else if let form = state.answered(now: context.eventLoop.now) {
            write(response, form, context: context).whenSuccess { [self] in
                perform(state.sent(now: context.eventLoop.now), context: context)
            }
        }
    }

    /// Writes an answer; the future succeeds when the operating system has taken it.
    private func write(
        _ response: Response,
        _ form: ConnectionState.AnswerForm,
        context: ChannelHandlerContext
    ) -> EventLoopFuture<Void>.Isolated {
        var body = ByteBuffer()
        if case .bytes(let bytes) = response.body { body = bytes }
        var response = response
        response.headers.add(name: "content-length", value: "\(body.readableBytes)")
        context.write(wrapOutboundOut(.head(head(of: response, form, .http1_1))), promise: nil)
        if !form.isHead, body.readableBytes > 0 {
            context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        }
        return context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated()
    }

    private func head(of response: Response, _ form: ConnectionState.AnswerForm, _ version: HTTPVersion) -> HTTPResponseHead {
        var head = HTTPResponseHead(version: version, status: response.status, headers: response.headers)
        for (name, value) in routes.headers where !head.headers.contains(name: name) { head.headers.add(name: name, value: value) }
        head.headers.add(name: "date", value: HTTPDate.now)
        if let connection = form.connection { head.headers.add(name: "connection", value: connection) }
        return head
    }
}

/// Answers that are written piece by piece.
extension ConnectionHandler {
    private func stream(
        _ body: @escaping @Sendable (ResponseWriter) async -> Void,
        _ response: Response,
        _ form: ConnectionState.AnswerForm,
        context: ChannelHandlerContext
    ) {
        // The codec sends a body of unknown length in chunks, but to a client of HTTP/1.0 until the end of the connection.
        let head = head(of: response, form, form.isHTTP10 ? .http1_0 : .http1_1)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
        timer.wake(at: state.deadline)
        let connection = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        let writer = ResponseWriter { bytes in
            eventLoop.flatSubmit { connection.value.handler.writePiece(bytes, context: connection.value.context) }
        }
        runTask {
            await body(writer)
            eventLoop.execute { connection.value.handler.endStream(context: connection.value.context) }
        }
    }

    private func writePiece(_ bytes: ByteBuffer, context: ChannelHandlerContext) -> EventLoopFuture<Void> {
        guard state.pieceBegins(now: context.eventLoop.now) else {
            return context.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
        }
        timer.wake(at: state.deadline)
        let taken = context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(bytes))))
        taken.assumeIsolated().whenSuccess { [self] in state.pieceEnds() }
        return taken
    }

    private func endStream(context: ChannelHandlerContext) {
        guard state.streamEnds(now: context.eventLoop.now) else { return }
        timer.wake(at: state.deadline)
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenSuccess { [self] in
            perform(state.sent(now: context.eventLoop.now), context: context)
        }
    }
}

extension ChannelPipeline.SynchronousOperations {
    /// Adds the HTTP/1.1 codec and the handler of a connection.
    func addHTTPHandlers(_ handler: ConnectionHandler, limits: ListenerLimits) throws {
        var decoding = NIOHTTPDecoderLimitConfiguration()
        decoding.maxHeaderFieldSize = limits.maximumHeadBytes
        decoding.maxHeaderListSize = limits.maximumHeadBytes
        decoding.maxHeaderFieldCount = limits.maximumHeadFields
        try addHandlers([
            HTTPResponseEncoder(), ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: decoding)), handler,
        ])
    }
}

/// Calls a connection at its deadline.
///
/// Moving the deadline to a later instant does not reschedule the timer: it fires early, and the connection checks its deadline again.
private final class ConnectionTimer: NIOScheduledCallbackHandler {
    private var eventLoop: (any EventLoop)?
    private var action: (() -> Void)?
    private var scheduled: NIOScheduledCallback?
    private var scheduledAt = NIODeadline.distantFuture

    /// Sets the action to run at a deadline.
    func start(context: ChannelHandlerContext, action: @escaping () -> Void) {
        eventLoop = context.eventLoop
        self.action = action
    }

    /// Schedules the action to run at an instant or earlier.
    func wake(at deadline: NIODeadline) {
        guard let eventLoop, scheduled == nil || deadline < scheduledAt else { return }
        scheduled?.cancel()
        scheduledAt = deadline
        do {
            scheduled = try eventLoop.assumeIsolated().scheduleCallback(at: deadline, handler: self)
        } catch {
            // Only an event loop after its shutdown throws; its connections are closed then.
            scheduled = nil
        }
    }

    /// Cancels the timer.
    func stop() {
        scheduled?.cancel()
        scheduled = nil
        action = nil
        eventLoop = nil
    }

    func handleScheduledCallback(eventLoop: some EventLoop) {
        scheduled = nil
        action?()
    }
}
