import Logging
import NIOCore
import NIOHTTP1

extension ConnectionGuard {
    /// Collects a request and hands it on when it is complete.
    func receive(_ part: HTTPServerRequestPart, context: ChannelHandlerContext) {
        switch part {
        case .head(let head): receiveHead(head, context: context)
        case .body(let bytes): receiveBody(bytes, context: context)
        case .end: handOn(context: context)
        }
    }

    private func receiveHead(_ head: HTTPRequestHead, context: ChannelHandlerContext) {
        state.bytesArrived(now: context.eventLoop.now)
        self.head = head
        do throws(Problem) {
            let expectation = try BodyExpectation(head, limit: limits.maximumBodyBytes(for: head.uri))
            reservation = BodyReservation(expectation, usualBytes: limits.maximumBodyBytes)
            if let refusal = admission.admit(&reservation) { throw refusal }
            // After an upgrade request the decoder parses nothing more.
            let keepsAlive = head.isKeepAlive && !head.headers.contains(name: "upgrade") && head.method != .CONNECT
            state.headArrived(keepsAlive: keepsAlive, maximumBodyBytes: expectation.maximumBytes)
            if expectation.awaitsContinue {
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

    private func handOn(context: ChannelHandlerContext) {
        guard let head else { return }
        state.requestCompleted(now: context.eventLoop.now)
        // To read a body above the usual limit would hold up the other connections of this event loop.
        if head.method == .POST, body?.readableBytes ?? 0 <= limits.maximumBodyBytes, let endpoint = directEndpoints[head.uri] {
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

    private func answer(_ head: HTTPRequestHead, by endpoint: DirectEndpoint, context: ChannelHandlerContext) {
        let connection = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        let body = body ?? ByteBuffer()
        self.body = nil
        endpoint.handle(head.headers, body) { [eventLoop = context.eventLoop] problem in
            eventLoop.execute { connection.value.handler.answer(problem, context: connection.value.context) }
        }
    }

    private func answer(_ problem: Problem?, context: ChannelHandlerContext) {
        // It is still this request's turn, unless the connection has ended.
        guard case .answering = state.phase else { return }
        if let problem { metrics.refused(problem) }
        let parts = problem?.parts(date: HTTPDate.now) ?? Self.emptyAnswer
        for part in parts { write(context: context, data: wrapOutboundOut(part), promise: nil) }
        context.flush()
    }

    private static var emptyAnswer: [HTTPServerResponsePart] {
        [.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "0", "date": HTTPDate.now])), .end(nil)]
    }

    /// Keeps a part of a pipelined request until its turn.
    func hold(_ part: HTTPServerRequestPart, context: ChannelHandlerContext) {
        if case .body(let bytes) = part { heldBytes += bytes.readableBytes }
        held.append(part)
        guard heldBytes > limits.maximumPipelinedBytes || held.count > limits.maximumPipelinedParts else { return }
        logger.debug("too much is pipelined")
        close(context: context)
    }

    /// Goes on to the next request, or ends the connection.
    func answerCompleted(context: ChannelHandlerContext) {
        releaseReservation()
        let hasMore = !held.isEmpty || heldRefusal != nil
        guard state.answerCompleted(hasMore: hasMore, now: context.eventLoop.now) else {
            context.flush()
            return close(context: context)
        }
        head = nil
        if hasMore { receiveHeld(context: context) }
        guard isReadHeld else { return }
        isReadHeld = false
        read(context: context)
    }

    private func receiveHeld(context: ChannelHandlerContext) {
        let parts = held
        held = []
        heldBytes = 0
        for part in parts { channelRead(context: context, data: wrapInboundOut(part)) }
        if case .answering = state.phase {
        } else if let problem = heldRefusal {
            refuse(problem, context: context)
        }
        channelReadComplete(context: context)
    }

    /// Answers a request that must not be read any further, and ends the connection.
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

    /// Does what is due.
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

    /// Gives back the memory that was reserved for the request.
    func releaseReservation() {
        admission.release(&reservation)
    }
}
