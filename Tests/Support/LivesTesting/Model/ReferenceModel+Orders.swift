/// The orders and the periods that pay them.
extension ReferenceModel {
    /// The state of all orders, computed once.
    struct Orders {
        /// Purchased charges by period, ordered by number.
        var periods: [String: [Charge]] = [:]
        /// The charge that pays each order named by a token.
        var payers: [Key: Charge] = [:]
        /// The sorted tokens whose orders a period pays; several when its charges have different ones.
        var tokensOfPeriod: [String: [String]] = [:]
        /// The first tokens of all purchased charges.
        var named: Set<Key> = []

        /// The order of a charge: its own token's when its period pays that, else the period's.
        func number(of charge: Charge) -> String? {
            guard charge.isPurchased else { return nil }
            let tokens = tokensOfPeriod[charge.period] ?? []
            if let token = charge.firstToken, tokens.contains(token) { return token }
            return tokens.first ?? charge.period
        }

        /// The charge that represents a paid period: the one with the lowest number.
        func trade(of period: String) -> Charge? { periods[period]?.first }
    }

    func makeOrders() -> Orders {
        var orders = Orders()
        for charge in charges where charge.isPurchased {
            orders.periods[charge.period, default: []].append(charge)
            guard let token = charge.firstToken else { continue }
            let order = Key(charge.environment, token)
            orders.named.insert(order)
            // A charge for another product or app does not pay; a matching one may follow.
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

    /// The refund status of a period: refunded when each of its charges is fully refunded. A refund without a percentage is full.
    func status(of period: [Charge]) -> String {
        let refunds = period.map { $0.revocationDate == nil ? 0 : $0.signed?.number("revocationPercentage") ?? 100_000 }
        if refunds.allSatisfy({ $0 >= 100_000 }) { return "refunded" }
        return period.contains { $0.revocationDate != nil } ? "partly_refunded" : "paid"
    }
}
