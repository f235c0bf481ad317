package import Outbox
import Postgres
import ServiceSupport

/// Makes the calls of some kinds that ask the App Store Server API, for the apps that have a key. The class of the requests is the call's
/// priority.
package struct ServerAPICallHandler: CallHandler {
    package let kinds: [String]
    package let slots: Int
    private let client: ServerAPIClient
    private let begin: @Sendable (LeasedCall) -> any ServerAPIAttempt

    /// How long an attempt waits for an empty budget, in all, and between two looks at it. Calls that were postponed instead would be leased
    /// again at once, and write the outbox each time.
    private static let budgetWait = (longest: Duration.seconds(10), shortest: Duration.milliseconds(100))

    /// - Parameters:
    ///   - slots: the most attempts at once, at least 1.
    ///   - attempt: an attempt at a call.
    package init(
        _ kinds: [String],
        slots: Int = 4,
        client: ServerAPIClient,
        attempt: @escaping @Sendable (LeasedCall) -> any ServerAPIAttempt
    ) {
        self.kinds = kinds
        self.slots = slots
        self.client = client
        begin = attempt
    }

    /// Those with a key that Apple does not refuse: another worker may have a better one, or a better clock.
    package var lanes: Set<CallLane> { client.openLanes }

    package func result(of call: LeasedCall, through exchange: Exchange) async -> CallResult? {
        var attempt = begin(call)
        let urgency = ServerAPIClass(rawValue: call.priority) ?? .import
        var result: ServerAPIResult?
        var left = Self.budgetWait.longest
        while true {
            switch attempt.next(after: result) {
            case .finish(let result): return result
            case .ask(let request):
                var latest = await client.send(request, class: urgency, through: exchange)
                while case .later(let delay) = latest, delay.isOfBudget {
                    let pause = max(delay.notBefore ?? .zero, Self.budgetWait.shortest)
                    guard pause <= left else { break }
                    left -= pause
                    await Task.rest(for: pause)
                    guard !Task.isEnding else { return nil }
                    latest = await client.send(request, class: urgency, through: exchange)
                }
                if case .shuttingDown = latest { return nil }
                result = latest
            }
        }
    }
}

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
