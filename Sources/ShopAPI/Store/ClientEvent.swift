import AppStore
import Interpretation
import Postgres
import StrictJSON

/// An event posted by a client, with its outcome.
struct ClientEvent: Sendable {
    let eventID: Int64
    let receivedAt: Timestamp
    /// Nil until the event is settled.
    let settledAt: Timestamp?
    /// Nil until the event is settled.
    let result: String?
    let reason: String?
    let environment: String?
    /// The app of the verified transaction; nil if nothing was verified.
    let bundleID: String?
    let transactionID: String?
    let originalTransactionID: String?
    /// The outline of the posted receipt; nil without a receipt, or when the submission was not read.
    let receipt: ReceiptOutline?

    init(_ row: Row, eventID: Int64) throws {
        self.eventID = eventID
        receivedAt = try row.decode("received_at", as: PostgresTimestamp.self).timestamp
        settledAt = try row.decode("settled_at", as: PostgresTimestamp?.self)?.timestamp
        result = try row.decode("result")
        reason = try row.decode("reason")
        environment = try row.decode("environment")
        bundleID = try row.decode("bundle_id")
        transactionID = try row.decode("transaction_id")
        originalTransactionID = try row.decode("original_transaction_id")
        receipt = try row.decode("submission", as: [UInt8]?.self).flatMap(Self.receipt)
    }

    private static func receipt(in submission: [UInt8]) -> ReceiptOutline? {
        do {
            return ReceiptOutline(receiptData: try ClientReceipt(body: submission).receiptData)
        } catch {
            return nil
        }
    }

    /// The path of the event.
    var path: String { Self.path(of: eventID) }

    static func path(of eventID: Int64) -> String { "/v1/events/\(eventID)" }

    var json: JSONObject { json(waitingFor: .notNeeded) }

    /// - Parameter call: the verifyReceipt call for the event. The event counts as waiting until the ledger has its result.
    func json(waitingFor call: VerifyReceiptCall) -> JSONObject {
        var object: JSONObject = [
            "event": .string("\(eventID)"), "url": .string(path), "state": result == nil || call.isOpen ? "waiting" : "settled",
            "receivedAt": .string(receivedAt.description), "settledAt": .optional(settledAt?.description),
            "result": .optional(result), "reason": .optional(reason),
            "environment": .optional(environment), "bundleId": .optional(bundleID),
            "transactionId": .optional(transactionID), "originalTransactionId": .optional(originalTransactionID),
        ]
        if let denial = call.denial { object["denial"] = .string(denial) }
        return object
    }
}
