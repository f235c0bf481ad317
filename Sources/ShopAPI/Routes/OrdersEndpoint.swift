import AppStore
import HTTPServing
import Hummingbird

/// `POST /v1/orders`: makes an order before the purchase.
struct OrdersEndpoint: Sendable {
    let store: ShopStore
    let maximumBytes: Int

    /// Answers 201 for a new order, 200 for one that was made with the same number and words, 409 for other words.
    func make(_ call: Call) async throws(Problem) -> Response {
        _ = try RequestQuery(call.request, known: [])
        // Apple alone says what is a Sandbox purchase: it gets a twin of the Production order.
        try call.key.check(.production)
        let body = try await RequestObject(call.request, maximumBytes: maximumBytes, known: ["user", "product", "bundleId", "orderNo"])
        let words = OrderWords(
            user: try body.requiredText("user"),
            product: try body.requiredText("product"),
            bundleID: try call.key.bundleID(named: body.text("bundleId")),
            no: try body.orderNumber("orderNo")
        )
        guard let order = try await store.makeOrder(words, key: call.key) else { throw .orderConflict }
        return .json(order.json, status: order.isNew ? .created : .ok)
    }
}
