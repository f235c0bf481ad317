/// The orders as text.
extension ReferenceModel {
    func orderLines(_ orders: Orders, _ claims: [Key: [Claim]]) -> [String] {
        let made = shopOrders.values.map { Key("Production", $0.no) }
        let named = orders.named.union(made).map { tokenOrderLine($0, orders, claims) }
        let periods = orders.purchases.compactMap { number, period -> String? in
            guard orders.tokenOfPurchase[number] == nil else { return nil }
            let user = user(claims[period.key] ?? [], at: period.purchaseDate)
            return orderLine(Key(period.key.environment, number), user: user, made: nil, reason: nil, paidBy: period)
        }
        return named + periods
    }

    /// An order that the shop made or that a charge named. A Sandbox order takes the shop's data from the Production order.
    private func tokenOrderLine(_ order: Key, _ orders: Orders, _ claims: [Key: [Claim]]) -> String {
        let made = shopOrders[order.id]
        guard let payer = orders.payers[order] else {
            let reason = orders.named.contains(order) ? "product_mismatch" : nil
            return orderLine(order, user: made?.user, made: made, reason: reason, paidBy: nil)
        }
        // What the token means is not known yet: as without one, the order is the owner's.
        let user = made == nil ? user(claims[payer.key] ?? [], at: payer.purchaseDate) : made?.user
        return orderLine(order, user: user, made: made, reason: nil, paidBy: payer)
    }

    private func orderLine(_ order: Key, user: String?, made: ShopOrder?, reason: String?, paidBy purchase: Purchase?) -> String {
        let trade = purchase?.first
        return LedgerLine.text(
            "order",
            order.environment,
            order.id,
            [
                ("user_id", user), ("product_id", made?.product), ("bundle_id", made?.bundle), ("reason", reason),
                ("status", purchase?.status ?? "pending"), ("period_no", trade?.period), ("transaction_id", trade?.id),
                ("original_transaction_id", trade?.contract), ("web_order_line_item_id", trade?.constant.text("webOrderLineItemId")),
                ("paid_product_id", trade?.product), ("paid_at", trade.map { String($0.purchaseDate) }),
                ("quantity", purchase?.quantity.map(String.init)), ("price", purchase?.price.map(String.init)),
                ("currency", trade?.lasting("currency")),
            ]
        )
    }
}
