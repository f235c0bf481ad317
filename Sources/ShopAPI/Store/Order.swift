import AppStore
import FoundationEssentials

/// The words of which an order is made.
struct OrderWords: Hashable, Sendable {
    let user: String
    let product: String
    /// The app; nil for any.
    let bundleID: String?
    /// The caller's own number; nil for a new one.
    let no: UUID?
}

/// An order of the books.
struct Order: Hashable, Sendable {
    let words: OrderWords
    /// What the client passes to StoreKit as appAccountToken.
    let no: UUID
    /// `pending`, `paid`, …: the purchase may have arrived first.
    let status: String
    /// Whether it was made just now.
    let isNew: Bool

    var json: JSONObject {
        [
            "orderNo": .string(no.uuidString.lowercased()), "user": .string(words.user), "product": .string(words.product),
            "bundleId": .optional(words.bundleID), "status": .string(status),
        ]
    }
}
