/// One attempt at a call, as a value that does no I/O: it gets each answer and returns the next step.
package protocol CallAttempt: Sendable {
    /// - Parameter outcome: of the last request; nil at the beginning.
    mutating func next(after outcome: ExchangeOutcome?) -> CallStep
}

/// The next step of an attempt.
package enum CallStep: Sendable {
    /// Send a request.
    case send(OutboundRequest)
    /// The attempt is over.
    case finish(CallResult)
}

/// The result of an attempt.
package enum CallResult: Hashable, Sendable {
    /// The answer, which enters the inbox under this source.
    case answered(source: String, body: [UInt8])
    /// No later attempt would have another answer.
    case refused(reason: String)
    /// The server denies what was asked about: there is no fallback.
    case denied(reason: String)
    /// A later attempt may succeed.
    ///
    /// - `atMost`: the attempts in a row with this reason; nil for as many as fit before the deadline.
    /// - `notBefore`: the delay that the server asked for.
    case later(reason: String, atMost: Int?, notBefore: Duration?)
}

extension CallResult: CustomStringConvertible, CustomReflectable {
    /// Shows only the length of an answer.
    package var description: String {
        switch self {
        case .answered(let source, let body): "answered: \(source), \(body.count) bytes"
        case .refused(let reason): "refused: \(reason)"
        case .denied(let reason): "denied: \(reason)"
        case .later(let reason, _, _): "later: \(reason)"
        }
    }

    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// Makes attempts at one kind of call.
package protocol CallHandler: Sendable {
    /// The column `kind` of the table `outbox`.
    var kind: String { get }
    /// The most attempts at once, at least 1. Each kind has its own slots, so that a server that hangs does not delay other kinds.
    var slots: Int { get }
    /// The apps whose calls it can make now. Other processes make the calls of other apps.
    var bundleIDs: Set<String> { get }
    func attempt(_ call: LeasedCall) -> any CallAttempt
}
