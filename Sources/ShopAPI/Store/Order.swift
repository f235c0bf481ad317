import AppStore
import FoundationEssentials
import StrictJSON

/// A request for an order.
struct OrderRequest: Hashable, Sendable {
    let user: String
    let product: String
    /// The app; nil for any.
    let bundleID: String?
    /// The client's own number; nil for a new one.
    let no: UUID?
}

/// A stored order.
struct Order: Hashable, Sendable {
    let request: OrderRequest
    /// The number that the client passes to StoreKit as appAccountToken.
    let no: UUID
    /// `pending`, `paid`, …. It is `paid` at once if the purchase arrived before the order.
    let status: String
    /// Whether this request made the order.
    let isNew: Bool

    var json: JSONObject {
        [
            "orderNo": .string(no.uuidString.lowercased()), "user": .string(request.user), "product": .string(request.product),
            "bundleId": .optional(request.bundleID), "status": .string(status),
        ]
    }
}
