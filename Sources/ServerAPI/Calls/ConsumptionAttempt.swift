import AppStore
package import Metrics
import Outbox
import StrictJSON

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

/// The payload of a call of kind `consumption`, as `appstore.decide_consumption` writes it.
private struct ConsumptionCall: Sendable {
    /// The transaction that Apple asks about.
    let transactionID: String
    /// Version 1 is for purchases of the Advanced Commerce API.
    let endpoint: ServerAPIEndpoint
    /// When Apple signed its first request.
    let askedAt: Timestamp
    /// The decision, in Apple's words.
    let body: JSONObject

    /// Nil for any other payload.
    init?(_ payload: [UInt8]) {
        do {
            let json = try JSONParser().parseObject(payload)
            guard case .string(let transactionID)? = json["transactionId"], case .number(let version)? = json["version"],
                case .number(let milliseconds)? = json["askedAt"], let askedAt = Timestamp(milliseconds),
                case .object(let body)? = json["body"]
            else { return nil }
            self.transactionID = transactionID
            endpoint = version.int64 == 1 ? .consumptionV1 : .consumption
            self.askedAt = askedAt
            self.body = body
        } catch {
            return nil
        }
    }
}

extension ServerAPICallHandler {
    /// The kind of calls that answer Apple's consumption requests.
    private static let consumptionKind = "consumption"

    /// Sends the answers to Apple's consumption requests that were decided.
    package static func consumption(_ client: ServerAPIClient, metrics: any MetricsFactory) -> ServerAPICallHandler {
        let delay = Timer(label: "appstore_inbox_consumption_answered_seconds", factory: metrics)
        return ServerAPICallHandler([consumptionKind], client: client) { call in
            ConsumptionAttempt(call) { delay.record(duration: $0) }
        }
    }
}
