import NIOCore
import NIOHTTP1

/// The state machine of a connection. It holds the request that arrives with its memory, and the deadline of each phase.
///
/// It does no I/O and reads no clock: `ConnectionHandler` reports events to it and carries out the actions.
struct ConnectionState {
    enum Action {
        case none
        case read
        /// Answer 100 (Continue), then ask ``nextInput(now:)``.
        case sendContinue
        /// Run the endpoint of a complete request, then report ``answered(now:)``.
        case dispatch(Request)
        /// Answer with a problem and end the output.
        case refuse(Problem, AnswerForm)
        case endOutput
        /// Close the connection at once.
        case close
    }

    /// What an answer depends on besides its endpoint.
    struct AnswerForm {
        /// The path of the request; nil when no head was received.
        var path: String?
        /// True when the answer has no body.
        var isHead = false
        /// True for a client of HTTP/1.0.
        var isHTTP10 = false
        /// The value of the Connection field.
        var connection: String? = "close"
    }

    private enum Phase {
        /// Waits for the first byte of a request. Can transition to: receiving, lingering, closed.
        case idle(until: NIODeadline)
        /// Receives a request. Can transition to: answering, lingering, closed.
        case receiving(Receiving)
        /// The endpoint of a complete request has not answered. The connection is not read. Can transition to: sending, streaming, closed.
        case answering(Answering)
        /// The client has not taken the answer. The connection is not read and runs no request. Can transition to: idle, lingering,
        /// closed.
        case sending(until: NIODeadline, isLast: Bool)
        /// The endpoint writes its answer piece by piece. The connection is not read. Without a piece that the client has not taken, `until`
        /// is the distant future. Can transition to: sending, closed.
        case streaming(until: NIODeadline, client: RequestClient)
        /// The last answer is sent, the output is closed, and input is discarded. Closing with unread input would reset the connection and
        /// could destroy the answer in transit. Can transition to: closed.
        case lingering(until: NIODeadline)
        /// Final.
        case closed
    }

    private struct Receiving {
        let until: NIODeadline
        var head: HTTPRequestHead?
        var path: String?
        var body = ByteBuffer()
        var reservation = BodyReservation.none
    }

    private struct Answering {
        let until: NIODeadline
        let path: String?
        let head: HTTPRequestHead
        let client: RequestClient
        var reservation: BodyReservation
    }

    private let limits: ListenerLimits
    private let admission: Admission
    private var phase: Phase
    private var input = BufferedInput()
    /// The end of the grace period; nil before shutdown.
    private var graceEnds: NIODeadline?

    /// The state of a new connection.
    init(limits: ListenerLimits, admission: Admission, now: NIODeadline) {
        self.limits = limits
        self.admission = admission
        phase = .idle(until: now + limits.requestDeadline)
    }

    /// The next deadline.
    var deadline: NIODeadline {
        let phaseEnds: NIODeadline =
            switch phase {
            case .idle(let until), .sending(let until, _), .streaming(let until, _), .lingering(let until): until
            case .receiving(let receiving): receiving.until
            case .answering(let answering): answering.until
            case .closed: .distantFuture
            }
        return min(phaseEnds, graceEnds ?? .distantFuture)
    }

    /// Records that bytes arrived. The first bytes of a request, even of an incomplete head, start its deadline.
    mutating func bytesArrived(now: NIODeadline) {
        guard case .idle = phase else { return }
        phase = .receiving(Receiving(until: now + limits.requestDeadline))
    }

    /// Records a part of a request.
    mutating func received(_ part: HTTPServerRequestPart, now: NIODeadline) -> Action {
        bytesArrived(now: now)
        switch phase {
        case .receiving(let receiving): return receive(part, receiving, now: now)
        case .answering, .sending: return input.append(part) ? .none : closed()
        case .idle, .streaming, .lingering, .closed: return .none
        }
    }

    private mutating func receive(_ part: HTTPServerRequestPart, _ receiving: consuming Receiving, now: NIODeadline) -> Action {
        // Releases the reference of the phase to the body, so that an append does not copy the body.
        phase = .closed
        var action = Action.none
        do throws(Problem) {
            switch part {
            case .head(let head):
                try receive(head, into: &receiving)
                if receiving.reservation.awaitsContinue { action = .sendContinue }
            case .body(let bytes):
                try receive(bytes, into: &receiving)
            case .end:
                guard let head = receiving.head else { break }
                let (until, reservation) = (now + limits.longestWait + limits.answerTimeout, receiving.reservation)
                let client = RequestClient(isGone: input.isClosed)
                phase = .answering(Answering(until: until, path: receiving.path, head: head, client: client, reservation: reservation))
                return .dispatch(Request(head, body: receiving.body, client: client))
            }
            phase = .receiving(receiving)
            return action
        } catch {
            phase = .receiving(receiving)
            return refuse(error, now: now)
        }
    }

    private func receive(_ head: HTTPRequestHead, into receiving: inout Receiving) throws(Problem) {
        let path = RequestTarget(head.uri).path
        (receiving.head, receiving.path) = (head, path)
        receiving.reservation = try BodyReservation(head, limit: limits.maximumBodyBytes(for: path))
        if let refusal = admission.admit(receiving.reservation) { throw refusal }
    }

    private func receive(_ bytes: ByteBuffer, into receiving: inout Receiving) throws(Problem) {
        let length = receiving.body.readableBytes + bytes.readableBytes
        guard length <= receiving.reservation.maximumBytes else { throw .contentTooLarge(limit: receiving.reservation.maximumBytes) }
        if let refusal = admission.grow(&receiving.reservation, toHold: length) { throw refusal }
        if receiving.body.readableBytes == 0 { receiving.body = bytes } else { receiving.body.writeImmutableBuffer(bytes) }
    }

    /// Records bytes that are not a request.
    mutating func parserFailed(_ problem: Problem, now: NIODeadline) -> Action {
        switch phase {
        case .idle, .receiving: return refuse(problem, now: now)
        case .answering, .sending: input.failure = input.failure ?? problem
        case .streaming, .lingering, .closed: break
        }
        return .none
    }

    /// Whether an endpoint has to answer.
    var isAnswering: Bool {
        if case .answering = phase { true } else { false }
    }

    /// The path of the request that an endpoint has to answer.
    var path: String? {
        if case .answering(let answering) = phase { answering.path } else { nil }
    }

    /// Records the answer to the request, and returns how it is written; nil when the connection was closed meanwhile.
    mutating func answered(now: NIODeadline) -> AnswerForm? {
        guard case .answering(var answering) = phase else { return nil }
        admission.release(&answering.reservation)
        let head = answering.head
        // After an upgrade request the decoder stops parsing.
        let keepsAlive = head.isKeepAlive && !head.headers.contains(name: "upgrade") && head.method != .CONNECT
        let isLast = !keepsAlive || graceEnds != nil || input.isAtEnd
        phase = .sending(until: min(answering.until, now + limits.answerTimeout), isLast: isLast)
        let connection = isLast ? "close" : head.version == .http1_0 ? "keep-alive" : nil
        return AnswerForm(isHead: head.method == .HEAD, isHTTP10: head.version == .http1_0, connection: connection)
    }

    /// Records an answer that is written piece by piece, and returns how it is written; nil when it has no body, or the connection was closed
    /// meanwhile.
    mutating func streams() -> AnswerForm? {
        guard case .answering(var answering) = phase, answering.head.method != .HEAD else { return nil }
        admission.release(&answering.reservation)
        phase = .streaming(until: .distantFuture, client: answering.client)
        return AnswerForm(isHTTP10: answering.head.version == .http1_0)
    }

    /// Records a piece of an answer; false when the connection is closed.
    mutating func pieceBegins(now: NIODeadline) -> Bool {
        guard case .streaming(_, let client) = phase else { return false }
        phase = .streaming(until: now + limits.answerTimeout, client: client)
        return true
    }

    /// Records that the operating system has taken the piece.
    mutating func pieceEnds() {
        guard case .streaming(_, let client) = phase else { return }
        phase = .streaming(until: .distantFuture, client: client)
    }

    /// Records the end of an answer that was written piece by piece; false when the connection is closed.
    mutating func streamEnds(now: NIODeadline) -> Bool {
        guard case .streaming = phase else { return false }
        phase = .sending(until: now + limits.answerTimeout, isLast: true)
        return true
    }

    /// Records that the operating system has taken the whole answer.
    mutating func sent(now: NIODeadline) -> Action {
        guard case .sending(_, let isLast) = phase else { return .none }
        if isLast { return endOutput(now: now) }
        phase = .idle(until: now + (graceEnds == nil ? limits.idleTimeout : limits.shutdownIdleTimeout))
        return nextInput(now: now)
    }

    /// Continues with the input that was buffered during an answer.
    mutating func nextInput(now: NIODeadline) -> Action {
        while true {
            switch phase {
            case .idle, .receiving: break
            case .answering, .sending, .streaming, .lingering, .closed: return .none
            }
            guard let part = input.popFirst() else { break }
            let action = received(part, now: now)
            if case .none = action { continue }
            return action
        }
        if let problem = input.failure { return refuse(problem, now: now) }
        if input.isClosed { return endOutput(now: now) }
        guard input.isReadHeld else { return .none }
        input.isReadHeld = false
        return .read
    }

    /// Records that the channel wants to read.
    mutating func readRequested() -> Action {
        switch phase {
        case .idle, .receiving, .lingering, .closed: return .read
        case .answering, .sending, .streaming:
            input.isReadHeld = true
            return .none
        }
    }

    /// Records that the client has closed its side. It gets the answer to its request; a client that reads a stream until then is gone.
    mutating func inputClosed(now: NIODeadline) -> Action {
        input.isClosed = true
        if case .streaming = phase { return closed() }
        if case .answering(let answering) = phase { answering.client.leave() }
        return nextInput(now: now)
    }

    /// Starts the grace period of a shutdown.
    mutating func shutDown(now: NIODeadline) -> Action {
        graceEnds = now + limits.shutdownGrace
        if case .idle(let until) = phase { phase = .idle(until: min(until, now + limits.shutdownIdleTimeout)) }
        return .none
    }

    /// Checks the deadline.
    mutating func timeReached(now: NIODeadline) -> Action {
        guard now >= deadline else { return .none }
        if case .receiving = phase, now < graceEnds ?? .distantFuture { return refuse(.requestTimeout, now: now) }
        return closed()
    }

    /// Records an error of the connection. Bytes after a refusal are one, too.
    mutating func failed() -> Action {
        if case .lingering = phase { return .none }
        return closed()
    }

    /// Records that the connection is closed, or is about to be.
    @discardableResult mutating func closed() -> Action {
        switch phase {
        case .answering(let answering): answering.client.leave()
        case .streaming(_, let client): client.leave()
        case .idle, .receiving, .sending, .lingering, .closed: break
        }
        releaseMemory()
        phase = .closed
        return .close
    }

    private mutating func refuse(_ problem: Problem, now: NIODeadline) -> Action {
        var form = AnswerForm()
        if case .receiving(let receiving) = phase { (form.path, form.isHead) = (receiving.path, receiving.head?.method == .HEAD) }
        _ = endOutput(now: now)
        return .refuse(problem, form)
    }

    private mutating func endOutput(now: NIODeadline) -> Action {
        releaseMemory()
        phase = .lingering(until: now + limits.lingerTimeout)
        return .endOutput
    }

    private func releaseMemory() {
        switch phase {
        case .receiving(var receiving): admission.release(&receiving.reservation)
        case .answering(var answering): admission.release(&answering.reservation)
        case .idle, .sending, .streaming, .lingering, .closed: break
        }
    }
}

extension NIODeadline {
    fileprivate static func + (start: NIODeadline, duration: Duration) -> NIODeadline { start + TimeAmount(duration) }
}

/// What a client sent or did while its request was answered.
///
/// The connection is not read during an answer: only what arrived in one read with the end of the request is buffered.
private struct BufferedInput {
    /// The most bytes of buffered bodies: as many as one read has.
    private static let maximumBytes = 64 * 1024
    /// The most parts: heads, body pieces and ends.
    private static let maximumParts = 256

    /// The parts of pipelined requests; those before `next` are received.
    private var parts: [HTTPServerRequestPart] = []
    private var next = 0
    private var bodyBytes = 0
    /// Why the bytes after the parts are not a request.
    var failure: Problem?
    /// True when the client has closed its side.
    var isClosed = false
    /// True when a read waits for the end of the answer.
    var isReadHeld = false

    /// True when no request follows.
    var isAtEnd: Bool { isClosed && failure == nil && next == parts.count }

    /// Buffers a part; false when there is more than the limits allow.
    mutating func append(_ part: HTTPServerRequestPart) -> Bool {
        if case .body(let bytes) = part { bodyBytes += bytes.readableBytes }
        parts.append(part)
        return bodyBytes <= Self.maximumBytes && parts.count <= Self.maximumParts
    }

    /// Removes the oldest part.
    mutating func popFirst() -> HTTPServerRequestPart? {
        guard next < parts.count else {
            (parts, next, bodyBytes) = ([], 0, 0)
            return nil
        }
        next += 1
        return parts[next - 1]
    }
}
