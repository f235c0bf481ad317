import Logging
import NIOCore
import NIOHTTP1

extension RequestLimitsHandler {
    /// Collects a request and dispatches it when it is complete.
    func receive(_ part: HTTPServerRequestPart, context: ChannelHandlerContext) {
        switch part {
        case .head(let head): receiveHead(head, context: context)
        case .body(let bytes): receiveBody(bytes, context: context)
        case .end: dispatch(context: context)
        }
    }

    private func receiveHead(_ head: HTTPRequestHead, context: ChannelHandlerContext) {
        state.bytesArrived(now: context.eventLoop.now)
        self.head = head
        do throws(Problem) {
            let framing = try BodyFraming(head, limit: limits.maximumBodyBytes(for: head.uri))
            reservation = MemoryReservation(framing, usualBytes: limits.maximumBodyBytes)
            if let refusal = admission.admit(&reservation) { throw refusal }
            // After an upgrade request the decoder stops parsing.
            let keepsAlive = head.isKeepAlive && !head.headers.contains(name: "upgrade") && head.method != .CONNECT
            state.headArrived(keepsAlive: keepsAlive, maximumBodyBytes: framing.maximumBytes)
            if framing.awaitsContinue {
                context.writeAndFlush(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
            }
        } catch {
            refuse(error, context: context)
        }
    }

    private func receiveBody(_ bytes: ByteBuffer, context: ChannelHandlerContext) {
        guard state.bodyArrived(bytes: bytes.readableBytes) else {
            return refuse(.contentTooLarge(limit: limits.maximumBodyBytes(for: head?.uri ?? "")), context: context)
        }
        if let refusal = admission.grow(&reservation, toHold: state.bodyBytes) { return refuse(refusal, context: context) }
        if body == nil { body = bytes } else { body?.writeImmutableBuffer(bytes) }
    }

    private func dispatch(context: ChannelHandlerContext) {
        guard let head else { return }
        state.requestCompleted(now: context.eventLoop.now)
        // Parsing a body above the usual limit would block the other connections of this event loop.
        if head.method == .POST, body?.readableBytes ?? 0 <= limits.maximumBodyBytes, let endpoint = eventLoopEndpoints[head.uri] {
            answer(head, by: endpoint, context: context)
        } else {
            forward(head, context: context)
        }
    }

    private func forward(_ head: HTTPRequestHead, context: ChannelHandlerContext) {
        context.fireChannelRead(wrapInboundOut(.head(head)))
        if let body { context.fireChannelRead(wrapInboundOut(.body(body))) }
        context.fireChannelRead(wrapInboundOut(.end(nil)))
        body = nil
    }

    private func answer(_ head: HTTPRequestHead, by endpoint: EventLoopEndpoint, context: ChannelHandlerContext) {
        let connection = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        let body = body ?? ByteBuffer()
        self.body = nil
        endpoint.handle(head.headers, body) { [eventLoop = context.eventLoop] problem in
            eventLoop.execute { connection.value.handler.answer(problem, context: connection.value.context) }
        }
    }

    private func answer(_ problem: Problem?, context: ChannelHandlerContext) {
        // The connection may have been closed meanwhile.
        guard case .answering = state.phase else { return }
        if let problem { metrics.refused(problem) }
        let parts = problem?.parts(date: HTTPDate.now) ?? Self.emptyAnswer
        for part in parts { write(context: context, data: wrapOutboundOut(part), promise: nil) }
        context.flush()
    }

    private static var emptyAnswer: [HTTPServerResponsePart] {
        [.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "0", "date": HTTPDate.now])), .end(nil)]
    }

    /// Buffers a part of a pipelined request.
    func bufferPipelined(_ part: HTTPServerRequestPart, context: ChannelHandlerContext) {
        if case .body(let bytes) = part { pipelinedBytes += bytes.readableBytes }
        pipelined.append(part)
        guard pipelinedBytes > limits.maximumPipelinedBytes || pipelined.count > limits.maximumPipelinedParts else { return }
        logger.debug("connection closed: too much pipelined data")
        close(context: context)
    }

    /// Continues with the next request, or closes the connection.
    func answerCompleted(context: ChannelHandlerContext) {
        releaseReservation()
        let hasMore = !pipelined.isEmpty || pipelinedRefusal != nil
        guard state.answerCompleted(hasMore: hasMore, now: context.eventLoop.now) else {
            context.flush()
            return close(context: context)
        }
        head = nil
        if hasMore { receivePipelined(context: context) }
        guard isReadPending else { return }
        isReadPending = false
        read(context: context)
    }

    private func receivePipelined(context: ChannelHandlerContext) {
        let parts = pipelined
        pipelined = []
        pipelinedBytes = 0
        for part in parts { channelRead(context: context, data: wrapInboundOut(part)) }
        if case .answering = state.phase {
        } else if let problem = pipelinedRefusal {
            refuse(problem, context: context)
        }
        channelReadComplete(context: context)
    }

    /// Refuses a request and ends the connection.
    func refuse(_ problem: Problem, context: ChannelHandlerContext) {
        metrics.refused(problem)
        releaseReservation()
        for part in problem.finalParts(isHead: head?.method == .HEAD, date: HTTPDate.now) {
            context.write(wrapOutboundOut(part), promise: nil)
        }
        context.flush()
        context.close(mode: .output, promise: nil)
        head = nil
        body = nil
        state.refused(now: context.eventLoop.now)
        timer.wake(at: state.deadline)
    }

    /// Handles a passed deadline.
    func timeReached(context: ChannelHandlerContext) {
        switch state.expiry(now: context.eventLoop.now) {
        case .notYet: timer.wake(at: state.deadline)
        case .refuse: refuse(.requestTimeout, context: context)
        case .close: close(context: context)
        }
    }

    /// Closes the connection at once.
    func close(context: ChannelHandlerContext) {
        state.closed()
        context.close(promise: nil)
    }

    /// Releases the memory reserved for the request.
    func releaseReservation() {
        admission.release(&reservation)
    }
}
