import AppStore

extension CustomerLife {
    /// PRICE_INCREASE: PENDING when the customer must consent, else ACCEPTED at once.
    /// - Parameter price: in thousandths of the currency unit; higher than the current one.
    package mutating func increasePrice(to price: Int64, needsConsent: Bool = true) throws(SimulationError) -> SimulatedNotification {
        var subscription = try activeContract(for: "PRICE_INCREASE")
        guard subscription.autoRenews else { throw .impossible("PRICE_INCREASE", because: "automatic renewal is off") }
        guard subscription.terms.commitment == nil else { throw .impossible("PRICE_INCREASE", because: "a commitment has a fixed price") }
        guard subscription.priceIncrease == nil else { throw .impossible("PRICE_INCREASE", because: "another price increase is pending") }
        let present = subscription.agreedPrices[subscription.nextProduct.id] ?? subscription.nextProduct.price
        guard price > present else { throw .impossible("PRICE_INCREASE", because: "\(price) is not more than \(present)") }
        subscription.priceIncrease = .init(price: price, isAccepted: !needsConsent)
        self.subscription = subscription
        return notification(.priceIncrease, needsConsent ? .pending : .accepted, about: subscription.current)
    }

    /// PRICE_INCREASE with ACCEPTED: the customer agrees.
    package mutating func acceptPriceIncrease() throws(SimulationError) -> SimulatedNotification {
        var subscription = try activeContract(for: "PRICE_INCREASE/ACCEPTED")
        guard subscription.awaitsConsent else { throw .impossible("PRICE_INCREASE/ACCEPTED", because: "the customer was not asked") }
        subscription.priceIncrease?.isAccepted = true
        self.subscription = subscription
        return notification(.priceIncrease, .accepted, about: subscription.current)
    }
}
