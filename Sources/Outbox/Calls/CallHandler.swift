/// Makes attempts at calls of some kinds.
package protocol CallHandler: Sendable {
    /// Values of the column `kind` of the table `outbox`.
    var kinds: [String] { get }
    /// The most attempts at once, at least 1. Each handler has its own slots, so that a server that hangs does not delay other kinds.
    var slots: Int { get }
    /// The apps and environments whose calls it can make now. Other processes make the other calls.
    var lanes: Set<CallLane> { get }

    /// Makes one attempt; nil when the shutdown comes first.
    ///
    /// - Parameter exchange: ends each request when the time of the attempt is over, and at a shutdown.
    func result(of call: LeasedCall, through exchange: Exchange) async -> CallResult?
}

/// A handler that does nothing but send requests: each attempt is a value.
package protocol PlainCallHandler: CallHandler {
    func attempt(_ call: LeasedCall) -> any CallAttempt
}

extension PlainCallHandler {
    package func result(of call: LeasedCall, through exchange: Exchange) async -> CallResult? {
        await attempt(call).result(through: exchange, timeout: .seconds(3600))
    }
}
