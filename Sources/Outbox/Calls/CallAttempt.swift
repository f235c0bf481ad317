/// One attempt at a call, as a value that does no I/O: it is told each answer and says what comes next.
package protocol CallAttempt: Sendable {
    /// What comes next.
    ///
    /// - Parameter outcome: of the request that was asked for last; nil at the beginning.
    mutating func next(after outcome: ExchangeOutcome?) -> CallStep
}

/// What an attempt wants.
package enum CallStep: Sendable {
    /// That this be sent. Can be followed by: send, finish.
    case send(OutboundRequest)
    /// Nothing more. It is the last step.
    case finish(CallResult)
}

/// What came of an attempt.
package enum CallResult: Hashable, Sendable {
    /// The answer, which enters the inbox under this source.
    case answered(source: String, body: [UInt8])
    /// No later attempt would have another answer.
    case refused(reason: String)
    /// Who was asked says that what was asked about is not so: nothing takes an answer's place.
    case denied(reason: String)
    /// A later attempt may; at most so many times in a row for this reason, or, for nil, for as long as there is time. Not before so long,
    /// where who was asked said so.
    case later(reason: String, atMost: Int?, notBefore: Duration?)
}

extension CallResult: CustomStringConvertible, CustomReflectable {
    /// Of an answer, only how long it is.
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
package protocol CallMaker: Sendable {
    /// As the table `outbox` has it.
    var kind: String { get }
    /// The most attempts at once, at least 1: slots of its own, so that another kind's silent partner is not in its way.
    var slots: Int { get }
    /// The apps whose calls it can make now; those of others are left to other processes.
    var bundleIDs: Set<String> { get }
    func attempt(_ call: LeasedCall) -> any CallAttempt
}
