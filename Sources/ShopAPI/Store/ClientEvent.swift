import AppStore
import Handlers
import Postgres

/// An event that a client posted, and what became of it.
struct ClientEvent: Sendable {
    let eventID: Int64
    let receivedAt: Timestamp
    /// Nil while it waits.
    let settledAt: Timestamp?
    /// Nil while it waits.
    let result: String?
    let reason: String?
    let environment: String?
    /// Of the verified transaction; nil where nothing was verified.
    let bundleID: String?
    let transactionID: String?
    let originalTransactionID: String?
    /// Of the receipt that was posted; nil when none was, or when what was posted was not asked for.
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

    var json: JSONObject { json(waitingFor: .notAsked) }

    /// - Parameter question: what Apple is asked about it. A post waits until that is in the books, too.
    func json(waitingFor question: ReceiptQuestion) -> JSONObject {
        var object: JSONObject = [
            "event": .string("\(eventID)"), "url": .string(path), "state": result == nil || question.isOpen ? "waiting" : "settled",
            "receivedAt": .string(receivedAt.description), "settledAt": .optional(settledAt?.description),
            "result": .optional(result), "reason": .optional(reason),
            "environment": .optional(environment), "bundleId": .optional(bundleID),
            "transactionId": .optional(transactionID), "originalTransactionId": .optional(originalTransactionID),
        ]
        if let denial = question.denial { object["denial"] = .string(denial) }
        return object
    }
}
