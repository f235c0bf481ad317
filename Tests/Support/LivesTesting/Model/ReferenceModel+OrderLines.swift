/// The orders as text.
extension ReferenceModel {
    func orderLines(_ orders: Orders, _ claims: [Key: [Claim]]) -> [String] {
        let made = shopOrders.values.map { Key("Production", $0.no) }
        let named = orders.named.union(made).map { tokenOrderLine($0, orders) }
        let periods = orders.periods.compactMap { number, period -> String? in
            guard orders.tokensOfPeriod[number] == nil, let trade = period.first else { return nil }
            let user = user(claims[trade.key] ?? [], at: trade.purchaseDate)
            return orderLine(Key(trade.environment, number), user: user, made: nil, reason: nil, paidBy: period)
        }
        return named + periods
    }

    /// An order that the shop made or that a charge named. A Sandbox order takes the shop's data from the Production order.
    private func tokenOrderLine(_ order: Key, _ orders: Orders) -> String {
        let made = shopOrders[order.id]
        guard let payer = orders.payers[order], let period = orders.periods[payer.period] else {
            let reason = orders.named.contains(order) ? "product_mismatch" : nil
            return orderLine(order, user: made?.user, made: made, reason: reason, paidBy: nil)
        }
        return orderLine(order, user: made?.user, made: made, reason: nil, paidBy: period)
    }

    private func orderLine(_ order: Key, user: String?, made: ShopOrder?, reason: String?, paidBy period: [Charge]?) -> String {
        let trade = period?.first
        return LedgerLine.text(
            "order",
            order.environment,
            order.id,
            [
                ("user_id", user), ("product_id", made?.product), ("bundle_id", made?.bundle), ("reason", reason),
                ("status", period.map(status) ?? "pending"), ("period_no", trade?.period), ("transaction_id", trade?.id),
                ("original_transaction_id", trade?.contract), ("web_order_line_item_id", trade?.constant.text("webOrderLineItemId")),
                ("paid_product_id", trade?.product), ("paid_at", trade.map { String($0.purchaseDate) }),
                ("quantity", trade?.constant.text("quantity")), ("price", trade?.constant.text("price")),
                ("currency", trade?.constant.text("currency")),
            ]
        )
    }
}
