import AppStore
package import FoundationEssentials

extension CustomerLife {
    /// DID_CHANGE_RENEWAL_PREF to another plan of the group: UPGRADE, at once, for a higher level or another plan like this one; else
    /// DOWNGRADE, at the next renewal.
    /// - Parameter appAccountToken: the token of an upgrade's purchase; nil keeps the contract's.
    package mutating func changePlan(
        to product: SimulatedProduct,
        appAccountToken: UUID? = nil
    ) throws(SimulationError) -> SimulatedNotification {
        let subscription = try activeContract(for: "DID_CHANGE_RENEWAL_PREF")
        let change = try planChange(of: subscription, to: product, event: "DID_CHANGE_RENEWAL_PREF")
        return takesEffectNow(change)
            ? notification(.didChangeRenewalPref, .upgrade, about: replacePeriod(of: subscription, by: product, token: appAccountToken))
            : notification(.didChangeRenewalPref, .downgrade, about: renewNext(subscription, as: product))
    }

    /// DID_CHANGE_RENEWAL_PREF without subtype: a downgrade is cancelled.
    package mutating func keepPlan() throws(SimulationError) -> SimulatedNotification {
        let subscription = try activeContract(for: "DID_CHANGE_RENEWAL_PREF")
        guard subscription.nextProduct.id != subscription.current.product.id else {
            throw .impossible("DID_CHANGE_RENEWAL_PREF", because: "no other plan was chosen")
        }
        return notification(.didChangeRenewalPref, about: renewNext(subscription, as: subscription.current.product))
    }

    /// OFFER_REDEEMED on an active subscription: without subtype for the same plan, from the next renewal on; with another plan UPGRADE, at
    /// once, or DOWNGRADE, at the next renewal.
    package mutating func redeem(
        _ offer: SimulatedOffer,
        for product: SimulatedProduct? = nil,
        appAccountToken: UUID? = nil
    ) throws(SimulationError) -> SimulatedNotification {
        let subscription = try activeContract(for: "OFFER_REDEEMED")
        guard let product, product.id != subscription.current.product.id else {
            return notification(.offerRedeemed, about: renewNext(subscription, as: subscription.nextProduct, offer: offer))
        }
        let change = try planChange(of: subscription, to: product, event: "OFFER_REDEEMED")
        return takesEffectNow(change)
            ? notification(
                .offerRedeemed,
                .upgrade,
                about: replacePeriod(of: subscription, by: product, token: appAccountToken, offer: offer)
            )
            : notification(.offerRedeemed, .downgrade, about: renewNext(subscription, as: product, offer: offer))
    }

    private func planChange(
        of subscription: SimulatedSubscription,
        to product: SimulatedProduct,
        event: String
    ) throws(SimulationError) -> PlanChange {
        let plan = subscription.current.product
        guard product.isSubscription, product.subscriptionGroupID == plan.subscriptionGroupID else {
            throw .impossible(event, because: "\(product.id) is no plan of the group")
        }
        guard product.id != plan.id else { throw .impossible(event, because: "the customer has \(product.id)") }
        return SimulatedCatalogue.change(from: plan, to: product)
    }

    private func takesEffectNow(_ change: PlanChange) -> Bool { change == .upgrade || change == .crossgradeNow }

    /// Ends the running period and starts one of the new plan; the old transaction is marked as upgraded, and appears in no further notification.
    private mutating func replacePeriod(
        of contract: SimulatedSubscription,
        by product: SimulatedProduct,
        token: UUID?,
        offer: SimulatedOffer? = nil
    ) -> SimulatedTransaction {
        var subscription = contract
        // A period that was charged early cannot be replaced before it begins: purchase dates never go back.
        advance(to: subscription.current.purchaseDate)
        let instant = thisSecond
        if subscription.current.hasSeatAddition {
            subscription.changePeriod(of: subscription.current) { ($0.isUpgraded, $0.upgradedAt) = (true, instant) }
        }
        (subscription.current.isUpgraded, subscription.current.upgradedAt) = (true, instant)
        subscription.terms.commitment = nil
        subscription.appAccountToken = token ?? subscription.appAccountToken
        subscription.priceIncrease = nil
        let transaction = charge(
            for: product,
            from: thisSecond,
            reason: .purchase,
            offer: offer,
            token: subscription.appAccountToken,
            in: subscription,
            terms: subscription.terms
        )
        subscription.transactions.append(transaction)
        subscription.nextProduct = product
        subscription.autoRenews = true
        subscription.upcomingOffer = Self.remainder(of: offer)
        self.subscription = subscription
        return transaction
    }

    private mutating func renewNext(
        _ contract: SimulatedSubscription,
        as product: SimulatedProduct,
        offer: SimulatedOffer? = nil
    ) -> SimulatedTransaction {
        var subscription = contract
        subscription.nextProduct = product
        // A price increase is about a product, and so is an offer; choosing another ends both.
        if product.id != contract.nextProduct.id {
            subscription.priceIncrease = nil
            subscription.upcomingOffer = nil
        }
        subscription.upcomingOffer = offer ?? subscription.upcomingOffer
        subscription.autoRenews = true
        subscription.terms.commitment?.renews = true
        self.subscription = subscription
        return subscription.current
    }
}
