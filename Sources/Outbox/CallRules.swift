import Postgres
package import ServiceSupport

/// Decides what happens to a call after an attempt. Pure: reads no clock.
package struct CallRules: Sendable {
    /// The delays between attempts.
    package var backoff = Backoff(base: .seconds(2), cap: .seconds(3600), jitter: 0.5)

    /// The pause before a call that waits for something else than its own success.
    private static let pause = Duration.seconds(60)

    package init() {}

    package enum Verdict: Hashable, Sendable {
        case answer([[UInt8]])
        /// An answer with more than events; the call goes on with the payload `next`, where there is one.
        case page([[UInt8]], answer: [UInt8], next: [UInt8]?)
        case refuse(reason: String)
        /// Refused without a fallback.
        case deny(reason: String)
        /// The deadline has passed.
        case giveUp(reason: String)
        case postpone(reason: String, by: Duration, countsAttempt: Bool = true)
    }

    /// - Parameter elapsed: since the lease began.
    package func verdict(
        on result: CallResult,
        of call: LeasedCall,
        elapsed: Duration,
        using generator: inout some RandomNumberGenerator
    ) -> Verdict {
        switch result {
        case .answered(let bodies):
            return .answer(bodies)
        case .page(let bodies, let answer, let next):
            return .page(bodies, answer: answer, next: next)
        case .refused(let reason):
            return .refuse(reason: reason)
        case .denied(let reason):
            return .deny(reason: reason)
        case .later(let reason, let atMost, let notBefore, let countsAttempt):
            let inARow = (call.lastReason == reason ? call.repeats : 0) + 1
            if countsAttempt, let atMost, inARow > atMost { return .refuse(reason: reason) }
            let timeLeft = call.timeLeft - elapsed
            guard timeLeft > .zero else { return .giveUp(reason: reason) }
            let asked = notBefore.map { min($0, backoff.cap) }
            let wanted: Duration
            if countsAttempt {
                wanted = max(backoff.delay(afterFailures: call.attempts + 1, using: &generator), asked ?? .zero)
            } else {
                // Those that wait for the same thing come back one after the other.
                let least = max(asked ?? Self.pause, .seconds(1))
                wanted = least + min(least * 0.2, .seconds(30)) * Double.random(in: 0...1, using: &generator)
            }
            // The last attempt runs at the deadline.
            return .postpone(reason: reason, by: min(wanted, timeLeft), countsAttempt: countsAttempt)
        }
    }
}

extension CallRules.Verdict: CustomStringConvertible, CustomReflectable {
    /// Shows only the length of an answer.
    package var description: String {
        switch self {
        case .answer(let bodies): "answer: \(bodies.lengths)"
        case .page(let bodies, _, let next): "\(next == nil ? "last" : "a") page: \(bodies.lengths)"
        case .refuse(let reason): "refuse: \(reason)"
        case .deny(let reason): "deny: \(reason)"
        case .giveUp(let reason): "give up: \(reason)"
        case .postpone(let reason, let delay, _): "postpone by \(delay): \(reason)"
        }
    }

    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

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
    fileprivate var lengths: String { "\(map(\.count)) bytes" }
}
