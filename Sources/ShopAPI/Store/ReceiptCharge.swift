import AppStore
import Postgres

/// A charge of a posted receipt that is in the books.
struct ReceiptCharge: Hashable, Sendable {
    let transactionID: String
    let originalTransactionID: String
    let productID: String?
    let owner: Owner
    /// Whether the client may finish it: it is in the books, and somebody's.
    let mayFinish: Bool

    /// Whose it is, seen from the user who posted it.
    enum Owner: String {
        case you, another, nobody
    }

    init(_ row: Row) throws {
        transactionID = try row.decode("transaction_id")
        originalTransactionID = try row.decode("original_transaction_id")
        productID = try row.decode("product_id")
        let owner: String = try row.decode("owner")
        guard let owner = Owner(rawValue: owner) else { throw UnknownOwner(word: owner) }
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

/// The schema has a word that this program has not.
private struct UnknownOwner: Error {
    let word: String
}
