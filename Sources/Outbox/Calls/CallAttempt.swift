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

extension CallAttempt {
    /// Makes the attempt; nil when the shutdown comes first.
    package func result(through exchange: Exchange, timeout: Duration) async -> CallResult? {
        var attempt = self
        var outcome: ExchangeOutcome?
        while true {
            switch attempt.next(after: outcome) {
            case .finish(let result):
                return result
            case .send(let request):
                outcome = await exchange.send(request, timeout: timeout)
                if case .failure(.shuttingDown) = outcome { return nil }
            }
        }
    }
}
