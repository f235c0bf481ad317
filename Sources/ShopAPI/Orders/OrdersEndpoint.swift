import AppStore
import FoundationEssentials
import HTTPServing
import NIOHTTP1
import Postgres
import StrictJSON

/// The orders: made before the purchase, and read at any time.
struct OrdersEndpoint: Sendable {
    let store: ShopStore

    /// `POST /v1/orders`. Answers 201 for a new order, 200 for an equal order with the same number, 409 for a different order with the same number.
    func make(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        _ = try RequestQuery(request.httpRequest, known: [])
        // Only Apple knows whether a purchase is Sandbox. A Sandbox purchase gets a copy of the Production order.
        try request.key.check(.production)
        let body = try RequestObject(
            request.httpRequest,
            known: ["user", "product", "bundleId", "orderNo"]
        )
        let orderRequest = OrderRequest(
            user: try body.requiredText("user"),
            product: try body.requiredText("product"),
            bundleID: try request.key.bundleID(named: body.text("bundleId")),
            no: try body.token("orderNo")
        )
        guard let (order, isNew) = try await store.makeOrder(orderRequest, key: request.key) else { throw .orderConflict }
        return .json(order.json, status: isNew ? .created : .ok)
    }

    /// `GET /v1/orders/{orderNo}`. Answers 404 for an unknown order, and for one of an app that the key does not cover.
    func order(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let environment = try request.environment(RequestQuery(request.httpRequest, known: ["environment"]))
        guard let no = UUID(uuidString: request.httpRequest.values["orderNo", default: ""]),
            let order = try await store.order(no, in: environment, key: request.key)
        else { throw .noSuchOrder }
        return .json(order.json)
    }

    /// `GET /v1/users/{user}/orders`: the orders of a user, newest first; none for an unknown user.
    func orders(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let query = try RequestQuery(request.httpRequest, known: ["environment", "status", "product", "cursor", "limit"])
        let (environment, user) = (try request.environment(query), try request.user())
        let filter = OrderFilter(
            status: try query.orderStatus(),
            product: try query.text("product"),
            after: try query.cursor(),
            limit: try query.limit()
        )
        let page = try await store.orders(of: user, in: environment, filter, key: request.key)
        return .json([
            "user": .string(user), "environment": .string(environment.rawValue),
            "orders": .array(page.orders.map { .object($0.json) }), "next": .optional(page.next?.description),
        ])
    }
}

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

/// `PUT /v1/users/{user}/token`: says which appAccountToken an app gives for each purchase of the user. It is for all apps and environments.
struct TokenEndpoint: Sendable {
    let store: ShopStore

    /// Answers 200 when the token means the user, 409 when it means an order or another user.
    func set(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        _ = try RequestQuery(request.httpRequest, known: [])
        try request.key.check(.production)
        let user = try request.user()
        guard let token = try RequestObject(request.httpRequest, known: ["token"]).token("token") else {
            throw .invalidMember("token", "token must be there.")
        }
        try await store.setToken(token, of: user, key: request.key)
        return .json(["user": .string(user), "token": .string(token.uuidString.lowercased())])
    }
}

/// `PUT /v1/contracts/{originalTransactionId}/owner`: sets the owner of a contract.
struct OwnerEndpoint: Sendable {
    let store: ShopStore

    /// Answers 200 when the owner is set, 404 for a contract without a known purchase.
    func link(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let query = try RequestQuery(request.httpRequest, known: ["environment"])
        let contract = try request.contract()
        let body = try RequestObject(request.httpRequest, known: ["user"])
        let environment = try request.environment(query)
        let user = try body.requiredText("user")
        guard try await store.link(contract, in: environment, to: user, key: request.key) else { throw .noSuchContract }
        return .json([
            "originalTransactionId": .string(contract), "environment": .string(environment.rawValue), "user": .string(user),
        ])
    }
}
