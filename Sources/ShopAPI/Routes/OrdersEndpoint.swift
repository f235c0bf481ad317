import AppStore
import FoundationEssentials
import HTTPServing
import NIOHTTP1
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
