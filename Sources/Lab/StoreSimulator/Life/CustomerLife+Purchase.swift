import AppStore
package import FoundationEssentials

extension CustomerLife {
    /// SUBSCRIBED: INITIAL_BUY the first time, RESUBSCRIBE after the subscription had ended.
    ///
    /// A resubscription keeps the originalTransactionId, also when another account of the app (another token) resubscribes on this Apple ID.
    /// - Parameters:
    ///   - product: defaults to the plan that the customer had, or to the catalogue's first.
    ///   - terms: seats of a group or a commitment. A member of a group gets the group's seats instead.
    package mutating func subscribe(
        to product: SimulatedProduct? = nil,
        appAccountToken: UUID? = nil,
        offer: SimulatedOffer? = nil,
        terms: PurchaseTerms = PurchaseTerms()
    ) throws(SimulationError) -> SimulatedNotification {
        let subtype: Subtype = subscription == nil ? .initialBuy : .resubscribe
        let transaction = try startPeriods(of: product, token: appAccountToken, offer: offer, terms: terms)
        return notification(.subscribed, subtype, about: transaction)
    }

    /// OFFER_REDEEMED with INITIAL_BUY or RESUBSCRIBE, which Apple sent until January 2024 when a subscription began with an offer.
    package mutating func subscribeByOfferBefore2024(
        to product: SimulatedProduct? = nil,
        appAccountToken: UUID? = nil,
        offer: SimulatedOffer = .codeForThreeMonths
    ) throws(SimulationError) -> SimulatedNotification {
        let subtype: Subtype = subscription == nil ? .initialBuy : .resubscribe
        return notification(.offerRedeemed, subtype, about: try startPeriods(of: product, token: appAccountToken, offer: offer))
    }

    /// ONE_TIME_CHARGE for a consumable, a non-consumable or a non-renewing subscription.
    package mutating func buy(
        _ product: SimulatedProduct,
        quantity: Int32 = 1,
        appAccountToken: UUID? = nil
    ) throws(SimulationError) -> SimulatedNotification {
        guard !product.isSubscription else {
            throw .impossible("ONE_TIME_CHARGE", because: "\(product.id) is a subscription")
        }
        guard quantity == 1 || product.type == .consumable else {
            throw .impossible("ONE_TIME_CHARGE", because: "only consumables have a quantity")
        }
        let id = identifiers.nextTransactionID(using: &generator)
        let charge = SimulatedTransaction(
            transactionID: id,
            originalTransactionID: id,
            webOrderLineItemID: nil,
            product: product,
            purchaseDate: thisSecond,
            originalPurchaseDate: thisSecond,
            expiresDate: nil,
            quantity: quantity,
            appAccountToken: appAccountToken,
            ownership: ownership,
            reason: .purchase,
            price: ownership == .familyShared ? nil : product.price * Int64(quantity),
            offer: nil,
            appTransactionID: appTransactionID
        )
        oneTimeCharges.append(charge)
        return notification(.oneTimeCharge, about: charge)
    }

    /// Changes the token of later charges and of the current one's later states, as Apple's Set App Account Token does.
    package mutating func changeAppAccountToken(to token: UUID) throws(SimulationError) {
        subscription = try contract(for: "a change of token")
        subscription?.appAccountToken = token
        subscription?.current.appAccountToken = token
    }

    /// Changes the token of a one-time charge in its later states.
    package mutating func changeAppAccountToken(ofCharge transactionID: String, to token: UUID) throws(SimulationError) {
        guard let index = oneTimeCharges.firstIndex(where: { $0.transactionID == transactionID }) else {
            throw .impossible("a change of token", because: "there is no one-time charge \(transactionID)")
        }
        oneTimeCharges[index].appAccountToken = token
    }

    /// Gives the current period another transactionId, as after a restore. Several transactionIds can share a webOrderLineItemId.
    package mutating func reissueTransactionID() throws(SimulationError) {
        var subscription = try activeContract(for: "another transactionId")
        guard !subscription.current.hasSeatAddition else {
            throw .impossible("another transactionId", because: "several transactions are the period")
        }
        var again = subscription.current
        again.transactionID = identifiers.nextTransactionID(using: &generator)
        subscription.transactions.append(again)
        self.subscription = subscription
    }

    private mutating func startPeriods(
        of product: SimulatedProduct?,
        token: UUID?,
        offer: SimulatedOffer?,
        terms: PurchaseTerms = PurchaseTerms()
    ) throws(SimulationError) -> SimulatedTransaction {
        if let subscription {
            switch subscription.phase {
            case .expired, .revoked: break
            case .active, .gracePeriod, .billingRetry:
                throw .impossible("SUBSCRIBED", because: "the customer has a subscription")
            }
        }
        guard let plan = product ?? subscription?.current.product ?? catalogue.plans.first, plan.isSubscription else {
            throw .impossible("SUBSCRIBED", because: "\(product?.id ?? "the catalogue's first product") is no subscription")
        }
        var terms = assignment.map { PurchaseTerms(seats: $0.seats) } ?? terms
        // A period that was charged early and refunded may not have begun: purchase dates never go back.
        if let subscription { advance(to: subscription.current.purchaseDate) }
        terms.commitment?.beginMonth(at: thisSecond)
        let transaction = charge(for: plan, from: thisSecond, reason: .purchase, offer: offer, token: token, in: subscription, terms: terms)
        guard var returning = subscription else {
            subscription = SimulatedSubscription(first: transaction, nextOffer: Self.remainder(of: offer), terms: terms)
            return transaction
        }
        let end = returning.current.revocation?.date ?? returning.expiresDate
        returning.transactions.append(transaction)
        returning.phase = .active
        returning.autoRenews = true
        returning.terms = terms
        returning.nextProduct = plan
        returning.appAccountToken = token
        // Apple ignores lapses of less than sixty days.
        if transaction.purchaseDate >= end.advanced(by: .seconds(60 * 86_400)) {
            returning.recentStartDate = transaction.purchaseDate
        }
        returning.upcomingOffer = Self.remainder(of: offer)
        returning.priceIncrease = nil
        subscription = returning
        return transaction
    }
}
