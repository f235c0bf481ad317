/// The orders and the purchases that pay them.
extension ReferenceModel {
    /// The state of all orders, computed once.
    struct Orders {
        /// Purchases by number; family members buy nothing.
        var purchases: [String: Purchase] = [:]
        /// The purchase that pays each order named by a token.
        var payers: [Key: Purchase] = [:]
        /// The token whose order a purchase pays.
        var tokenOfPurchase: [String: String] = [:]
        /// The first tokens of all purchases.
        var named: Set<Key> = []

        /// The order of a charge is that of its purchase.
        func number(of charge: Charge) -> String? {
            charge.isPurchased ? tokenOfPurchase[charge.period] ?? charge.period : nil
        }
    }

    func makeOrders() -> Orders {
        var orders = Orders()
        orders.purchases = Dictionary(grouping: charges.filter(\.isPurchased), by: \.period).compactMapValues(Purchase.init)
        for purchase in orders.purchases.values {
            // Only the token of the representing transaction counts.
            guard let token = purchase.first.firstToken else { continue }
            let order = Key(purchase.key.environment, token)
            orders.named.insert(order)
            // A purchase of another product or app does not pay; a matching one may follow.
            guard pays(purchase, for: shopOrders[token]) else { continue }
            if let payer = orders.payers[order], Purchase.isEarlier(payer, purchase) { continue }
            orders.payers[order] = purchase
        }
        for (order, payer) in orders.payers { orders.tokenOfPurchase[payer.first.period] = order.id }
        return orders
    }

    private func pays(_ purchase: Purchase, for order: ShopOrder?) -> Bool {
        guard let order else { return true }
        return order.product == purchase.product && (order.bundle == nil || order.bundle == purchase.bundle)
    }
}
