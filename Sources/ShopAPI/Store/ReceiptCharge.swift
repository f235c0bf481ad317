import AppStore
import Postgres

/// A charge of a posted receipt that is in the books.
struct ReceiptCharge: Hashable, Sendable {
    let transactionID: String
    let originalTransactionID: String
    let productID: String?
    /// `you`, `another` or `nobody`, seen from the user who posted it.
    let owner: String
    /// Whether the client may finish it: it is in the books, and somebody's.
    let mayFinish: Bool

    init(_ row: Row) throws {
        transactionID = try row.decode("transaction_id")
        originalTransactionID = try row.decode("original_transaction_id")
        productID = try row.decode("product_id")
        owner = try row.decode("owner")
        mayFinish = try row.decode("may_finish")
    }

    var json: JSONObject {
        [
            "transactionId": .string(transactionID), "originalTransactionId": .string(originalTransactionID),
            "productId": .optional(productID), "owner": .string(owner), "mayFinish": .bool(mayFinish),
        ]
    }
}
