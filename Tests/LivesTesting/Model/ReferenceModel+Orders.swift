/// Which period pays which order.
extension ReferenceModel {
    /// The orders' side of the books, computed once.
    struct Orders {
        /// Charges that were bought, by their period, each period's by number.
        var periods: [String: [Charge]] = [:]
        /// The charge that pays an order named by a token.
        var payers: [Key: Charge] = [:]
        /// The tokens whose orders a period pays, in order: more than one when its charges had different ones.
        var tokensOfPeriod: [String: [String]] = [:]
        /// All tokens that a bought charge named first.
        var named: Set<Key> = []

        /// The order that a charge points to: its own token's when its period pays that, else the period's.
        func number(of charge: Charge) -> String? {
            guard charge.isPurchased else { return nil }
            let tokens = tokensOfPeriod[charge.period] ?? []
            if let token = charge.firstToken, tokens.contains(token) { return token }
            return tokens.first ?? charge.period
        }

        /// The charge that an order is traded by: the one with the lowest number of the period.
        func trade(of period: String) -> Charge? { periods[period]?.first }
    }

    func makeOrders() -> Orders {
        var orders = Orders()
        for charge in charges where charge.isPurchased {
            orders.periods[charge.period, default: []].append(charge)
            guard let token = charge.firstToken else { continue }
            let order = Key(charge.environment, token)
            orders.named.insert(order)
            // A charge for another product or app does not pay; a right one may follow.
            guard pays(charge, for: shopOrders[token]) else { continue }
            if let payer = orders.payers[order], Charge.isEarlier(payer, charge) { continue }
            orders.payers[order] = charge
        }
        for period in orders.periods.keys { orders.periods[period]?.sort(by: Charge.hasLowerNumber) }
        for (order, payer) in orders.payers.sorted(by: { $0.key.id < $1.key.id }) {
            orders.tokensOfPeriod[payer.period, default: []].append(order.id)
        }
        return orders
    }

    private func pays(_ charge: Charge, for order: ShopOrder?) -> Bool {
        guard let order else { return true }
        return order.product == charge.product && (order.bundle == nil || order.bundle == charge.bundle)
    }

    /// Whether and how much of a period was given back: all of it when all of each of its charges was. No percentage means all.
    func status(of period: [Charge]) -> String {
        let refunds = period.map { $0.revocationDate == nil ? 0 : $0.signed?.number("revocationPercentage") ?? 100_000 }
        if refunds.allSatisfy({ $0 >= 100_000 }) { return "refunded" }
        return period.contains { $0.revocationDate != nil } ? "partly_refunded" : "paid"
    }
}
