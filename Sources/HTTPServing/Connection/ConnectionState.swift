import NIOCore

/// Where a connection stands, and until when it may stay there.
///
/// It does no I/O and reads no clock: `ConnectionGuard` tells it what happened and does what it answers.
struct ConnectionState {
    enum Phase {
        /// No byte of a request has come. Can transition to: receiving, closed.
        case idle
        /// Some of a request has come. Can transition to: answering, lingering, closed.
        case receiving
        /// A whole request is with its route, and nothing is read. Can transition to: idle, closed.
        case answering
        /// A refusal is written, the output is closed, and what comes is thrown away: closing at once, with unread
        /// input, would reset the connection and could destroy the refusal on its way. Can transition to: closed.
        case lingering
        /// It is the last phase.
        case closed
    }

    enum Expiry: Equatable {
        case notYet
        case refuse
        case close
    }

    private(set) var phase = Phase.idle
    private let limits: ConnectionLimits
    private var phaseEnds: NIODeadline
    private var graceEnds: NIODeadline?
    private var keepsAlive = true
    private var isInputClosed = false
    /// How much of the body has come.
    private(set) var bodyBytes = 0
    private var maximumBodyBytes = 0

    /// A connection that was just opened.
    init(limits: ConnectionLimits, now: NIODeadline) {
        self.limits = limits
        phaseEnds = now + limits.requestDeadline
    }

    /// When something must have happened.
    var deadline: NIODeadline { min(phaseEnds, graceEnds ?? .distantFuture) }

    /// True when the answer in work is the last one and has to say so.
    var isLastAnswer: Bool { !keepsAlive || graceEnds != nil }

    /// Bytes came; the first of a request start its deadline.
    mutating func bytesArrived(now: NIODeadline) {
        guard case .idle = phase else { return }
        phase = .receiving
        phaseEnds = now + limits.requestDeadline
    }

    /// A head came whose body is going to be read.
    mutating func headArrived(keepsAlive: Bool, maximumBodyBytes: Int) {
        self.keepsAlive = keepsAlive
        self.maximumBodyBytes = maximumBodyBytes
        bodyBytes = 0
    }

    /// Some of a body came; false when it is more than the head has announced or the limit allows.
    mutating func bodyArrived(bytes: Int) -> Bool {
        bodyBytes += bytes
        return bodyBytes <= maximumBodyBytes
    }

    /// The last byte of a request came.
    mutating func requestCompleted(now: NIODeadline) {
        phase = .answering
        phaseEnds = now + limits.answerTimeout
    }

    /// An answer is written; true when the connection waits for another request.
    ///
    /// - Parameter hasMore: whether some of the next request is here already.
    mutating func answerCompleted(hasMore: Bool, now: NIODeadline) -> Bool {
        guard !isLastAnswer, hasMore || !isInputClosed else {
            phase = .closed
            return false
        }
        phase = .idle
        phaseEnds = now + limits.idleTimeout
        return true
    }

    /// A request was refused before it was complete.
    mutating func refused(now: NIODeadline) {
        phase = .lingering
        phaseEnds = now + limits.lingerTimeout
    }

    /// The client sends no more; true when the connection serves nothing any longer.
    mutating func inputClosed() -> Bool {
        isInputClosed = true
        if case .answering = phase { return false }
        phase = .closed
        return true
    }

    /// The server shuts down; true when the connection is between two requests.
    mutating func shutDown(now: NIODeadline) -> Bool {
        graceEnds = now + limits.shutdownGrace
        guard case .idle = phase else { return false }
        phase = .closed
        return true
    }

    /// The connection is closed.
    mutating func closed() {
        phase = .closed
    }

    /// Decides what follows from the time.
    func expiry(now: NIODeadline) -> Expiry {
        guard now >= deadline else { return .notYet }
        if let graceEnds, now >= graceEnds { return .close }
        if case .receiving = phase { return .refuse }
        return .close
    }
}
