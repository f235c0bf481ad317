import AppStore
import HTTPServing
import Hummingbird

/// `POST /v1/orders`: makes an order before the purchase.
struct OrdersEndpoint: Sendable {
    let store: ShopStore
    let maximumBytes: Int

    /// Answers 201 for a new order, 200 for an equal order with the same number, 409 for a different order with the same number.
    func make(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        _ = try RequestQuery(request.httpRequest, known: [])
        // Only Apple knows whether a purchase is Sandbox. A Sandbox purchase gets a copy of the Production order.
        try request.key.check(.production)
        let body = try await RequestObject(
            request.httpRequest,
            maximumBytes: maximumBytes,
            known: ["user", "product", "bundleId", "orderNo"]
        )
        let orderRequest = OrderRequest(
            user: try body.requiredText("user"),
            product: try body.requiredText("product"),
            bundleID: try request.key.bundleID(named: body.text("bundleId")),
            no: try body.orderNumber("orderNo")
        )
        guard let order = try await store.makeOrder(orderRequest, key: request.key) else { throw .orderConflict }
        return .json(order.json, status: order.isNew ? .created : .ok)
    }
}
