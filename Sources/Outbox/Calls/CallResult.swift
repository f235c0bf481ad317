/// The result of an attempt.
package enum CallResult: Hashable, Sendable {
    /// The answer. Each body becomes an event, of the source that `appstore.call_kinds` names for the kind; there is none where it names none.
    case answered([[UInt8]])
    /// A page of an answer, or an answer with more than events: its bodies, as above; `answer`, a JSON object for the column of this name; and
    /// the payload with which the call asks for the rest, nil after the last page.
    case page([[UInt8]], answer: [UInt8], next: [UInt8]? = nil)
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
        case .page(let bodies, _, let next): "\(next == nil ? "last" : "a") page: \(bodies.lengths)"
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
