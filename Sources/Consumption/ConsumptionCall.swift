import AppStore
import ServerAPI
import StrictJSON

/// The payload of a call of kind `consumption`, as `appstore.decide_consumption` writes it.
struct ConsumptionCall: Sendable {
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
