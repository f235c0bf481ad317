import Postgres
import StrictJSON

/// A charge of a posted receipt that is in the ledger.
struct ReceiptCharge: Hashable, Sendable {
    let transactionID: String
    let originalTransactionID: String
    let productID: String?
    let owner: Owner
    /// Whether the client may finish the transaction: it is in the ledger and has an owner.
    let mayFinish: Bool

    /// The owner, relative to the user who posted the receipt.
    enum Owner: String {
        case you, another, nobody
    }

    init(_ row: Row) throws {
        transactionID = try row.decode("transaction_id")
        originalTransactionID = try row.decode("original_transaction_id")
        productID = try row.decode("product_id")
        let owner: String = try row.decode("owner")
        guard let owner = Owner(rawValue: owner) else { throw UnknownOwner(value: owner) }
        self.owner = owner
        mayFinish = try row.decode("may_finish")
    }

    var json: JSONObject {
        [
            "transactionId": .string(transactionID), "originalTransactionId": .string(originalTransactionID),
            "productId": .optional(productID), "owner": .string(owner.rawValue), "mayFinish": .bool(mayFinish),
        ]
    }
}

/// The database returned an owner that this version does not know.
private struct UnknownOwner: Error {
    let value: String
}
