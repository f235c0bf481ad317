package import Outbox

/// One attempt at a call of the outbox that asks the App Store Server API, as a value that does no I/O: it gets each result and returns the
/// next step.
package protocol ServerAPIAttempt: Sendable {
    /// - Parameter result: of the last request; nil at the beginning. Never ``ServerAPIResult/shuttingDown``.
    mutating func next(after result: ServerAPIResult?) -> ServerAPIStep
}

/// The next step of an attempt.
package enum ServerAPIStep: Sendable {
    case ask(ServerAPIRequest)
    /// The attempt is over.
    case finish(CallResult)
}
