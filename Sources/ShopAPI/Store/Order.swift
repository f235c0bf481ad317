import FoundationEssentials
import Postgres
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
struct Order: Sendable {
    let json: JSONObject
    /// The place of the order among those of its user.
    let cursor: OrderCursor

    init(_ row: Row) throws {
        let no: UUID = try row.decode("order_no")
        let (orderedAt, paidAt): (PostgresTimestamp?, PostgresTimestamp?) = (try row.decode("ordered_at"), try row.decode("paid_at"))
        json = [
            "orderNo": .string(no.uuidString.lowercased()),
            "environment": .string(try row.decode("environment")),
            "user": try .text(row, "user_id"),
            "product": try .text(row, "product_id"),
            "bundleId": try .text(row, "bundle_id"),
            "status": .string(try row.decode("status")),
            "reason": try .text(row, "reason"),
            "orderedAt": try .instant(row, "ordered_at"),
            "paidAt": try .instant(row, "paid_at"),
            "quantity": try .integer(row, "quantity"),
            "price": .optional(try row.decode("price", as: Int64?.self)),
            "currency": try .text(row, "currency"),
            "transactionId": try .text(row, "transaction_id"),
            "originalTransactionId": try .text(row, "original_transaction_id"),
        ]
        cursor = OrderCursor(at: orderedAt ?? paidAt ?? PostgresTimestamp(microsecondsSince2000: 0), no: no)
    }
}

/// A page of a user's orders.
struct OrderPage: Sendable {
    let orders: [Order]
    /// Where the next page begins; nil after the last one.
    let next: OrderCursor?
}

/// Which of a user's orders are asked for; nil conditions are ignored.
struct OrderFilter: Hashable, Sendable {
    var status: String?
    var product: String?
    /// The last order of the page before.
    var after: OrderCursor?
    var limit: Int32
}

/// The place of an order among those of its user, newest first.
struct OrderCursor: Hashable, Sendable, LosslessStringConvertible {
    /// When the order was made, or else paid.
    let at: PostgresTimestamp
    let no: UUID

    init(at: PostgresTimestamp, no: UUID) {
        self.at = at
        self.no = no
    }

    /// Nil for other text than that of a cursor.
    init?(_ text: String) {
        // 17 digits last until the year 5168.
        guard let match = text.wholeMatch(of: /([0-9]{1,17})\.(.+)/), let microseconds = Int64(match.1),
            let no = UUID(uuidString: String(match.2))
        else { return nil }
        self.init(at: PostgresTimestamp(microsecondsSince2000: microseconds), no: no)
    }

    /// Microseconds since 2000, a dot and the number of the order.
    var description: String { "\(at.microsecondsSince2000).\(no.uuidString.lowercased())" }
}
