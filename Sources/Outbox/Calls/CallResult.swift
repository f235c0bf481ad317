/// The result of an attempt.
package enum CallResult: Hashable, Sendable {
    /// The answer. Each body becomes an event, of the source that `appstore.call_kinds` names for the kind; there is none where it names none.
    case answered([[UInt8]])
    /// No later attempt would have another answer.
    case refused(reason: String)
    /// The server denies what was asked about: there is no fallback.
    case denied(reason: String)
    /// A later attempt may succeed.
    ///
    /// - `atMost`: the attempts in a row with this reason; nil for as many as fit before the deadline.
    /// - `notBefore`: the delay that the server asked for.
    /// - `countsAttempt`: false where the call is not the cause, such as a 429 or a refused key. The back-off then counts the postponements in
    ///   a row, and only where there is no `notBefore`.
    case later(reason: String, atMost: Int? = nil, notBefore: Duration? = nil, countsAttempt: Bool = true)
}

extension CallResult: CustomStringConvertible, CustomReflectable {
    /// Shows only the length of an answer.
    package var description: String {
        switch self {
        case .answered(let bodies): "answered: \(bodies.lengths)"
        case .refused(let reason): "refused: \(reason)"
        case .denied(let reason): "denied: \(reason)"
        case .later(let reason, _, _, _): "later: \(reason)"
        }
    }

    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension [[UInt8]] {
    /// For descriptions, which show no body.
    var lengths: String { "\(map(\.count)) bytes" }
}
