import NIOCore

/// The state machine of a connection, with the deadline of each state.
///
/// It does no I/O and reads no clock: `RequestLimitsHandler` reports events to it and carries out its decisions.
struct ConnectionState {
    enum Phase {
        /// Waits for the first byte of a request. Can transition to: receiving, closed.
        case idle
        /// Receives a request. Can transition to: answering, lingering, closed.
        case receiving
        /// An endpoint answers a complete request; the connection is not read. Can transition to: idle, closed.
        case answering
        /// A refusal is written, the output is closed, and input is discarded. Closing with unread input would reset the connection and
        /// could destroy the refusal in transit. Can transition to: closed.
        case lingering
        /// Final.
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
    /// The bytes of the body received so far.
    private(set) var bodyBytes = 0
    private var maximumBodyBytes = 0

    /// The state of a new connection.
    init(limits: ConnectionLimits, now: NIODeadline) {
        self.limits = limits
        phaseEnds = now + limits.requestDeadline
    }

    /// The next deadline.
    var deadline: NIODeadline { min(phaseEnds, graceEnds ?? .distantFuture) }

    /// True when the current answer is the last one and must carry `Connection: close`.
    var isLastAnswer: Bool { !keepsAlive || graceEnds != nil }

    /// Records that bytes arrived. The first bytes of a request start its deadline.
    mutating func bytesArrived(now: NIODeadline) {
        guard case .idle = phase else { return }
        phase = .receiving
        phaseEnds = now + limits.requestDeadline
    }

    /// Records an admitted head.
    mutating func headArrived(keepsAlive: Bool, maximumBodyBytes: Int) {
        self.keepsAlive = keepsAlive
        self.maximumBodyBytes = maximumBodyBytes
        bodyBytes = 0
    }

    /// Records body bytes; false when the body exceeds its Content-Length or the limit.
    mutating func bodyArrived(bytes: Int) -> Bool {
        bodyBytes += bytes
        return bodyBytes <= maximumBodyBytes
    }

    /// Records the end of a request.
    mutating func requestCompleted(now: NIODeadline) {
        phase = .answering
        phaseEnds = now + limits.answerTimeout
    }

    /// Records a complete answer; true when the connection stays open for another request.
    ///
    /// - Parameter hasMore: whether a part of the next request is buffered.
    mutating func answerCompleted(hasMore: Bool, now: NIODeadline) -> Bool {
        guard !isLastAnswer, hasMore || !isInputClosed else {
            phase = .closed
            return false
        }
        phase = .idle
        phaseEnds = now + limits.idleTimeout
        return true
    }

    /// Records a refusal before the request was complete.
    mutating func refused(now: NIODeadline) {
        phase = .lingering
        phaseEnds = now + limits.lingerTimeout
    }

    /// Records that the client closed its side; true when the connection must be closed.
    mutating func inputClosed() -> Bool {
        isInputClosed = true
        if case .answering = phase { return false }
        phase = .closed
        return true
    }

    /// Starts the shutdown grace period; true when the connection is idle and must be closed.
    mutating func shutDown(now: NIODeadline) -> Bool {
        graceEnds = now + limits.shutdownGrace
        guard case .idle = phase else { return false }
        phase = .closed
        return true
    }

    /// Records that the connection is closed.
    mutating func closed() {
        phase = .closed
    }

    /// Returns what to do when the deadline has passed.
    func expiry(now: NIODeadline) -> Expiry {
        guard now >= deadline else { return .notYet }
        if let graceEnds, now >= graceEnds { return .close }
        if case .receiving = phase { return .refuse }
        return .close
    }
}
