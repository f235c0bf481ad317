import AppStore
import Outbox
import ServerAPI

/// One attempt to tell Apple how a purchase was consumed. Apple answers with 202 and an empty body.
struct ConsumptionAttempt: ServerAPIAttempt {
    private let call: LeasedCall
    private let consumption: ConsumptionCall?
    /// Called when Apple has taken the answer, with the time since it asked.
    private let taken: @Sendable (Duration) -> Void

    init(_ call: LeasedCall, taken: @escaping @Sendable (Duration) -> Void) {
        self.call = call
        consumption = call.payload.flatMap(ConsumptionCall.init)
        self.taken = taken
    }

    mutating func next(after result: ServerAPIResult?) -> ServerAPIStep {
        guard let consumption else { return .finish(.refused(reason: "payload_gone")) }
        guard let result else {
            return .ask(
                ServerAPIRequest(
                    consumption.endpoint,
                    of: call.bundleID,
                    in: call.environment,
                    path: [consumption.transactionID],
                    body: consumption.body
                )
            )
        }
        // Apple itself has named the transaction: a replica does not know it yet.
        if case .refused(let refusal) = result, refusal.code == .transactionIDNotFound { return .finish(.later(reason: refusal.reason)) }
        if case .answered(let answer) = result {
            taken(.milliseconds(max(answer.askedAt.millisecondsSince1970 - consumption.askedAt.millisecondsSince1970, 0)))
        }
        return .finish(result.callResult { _ in [] } ?? .later(reason: ExchangeFailure.shuttingDown.rawValue))
    }
}
