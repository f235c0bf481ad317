import AppStore
import FoundationEssentials

/// Makes and revokes charges; the events call these.
extension CustomerLife {
    /// The subscription, for an event that needs one.
    func contract(for event: String) throws(SimulationError) -> SimulatedSubscription {
        guard let subscription else { throw .impossible(event, because: "the customer has no subscription") }
        return subscription
    }

    /// The subscription, for an event that needs it paid and running.
    func activeContract(for event: String) throws(SimulationError) -> SimulatedSubscription {
        let subscription = try contract(for: event)
        guard subscription.phase == .active, now < subscription.expiresDate else {
            throw .impossible(event, because: "the subscription is not active")
        }
        return subscription
    }

    /// The current time in whole seconds, as in Apple's purchase dates.
    var thisSecond: Timestamp {
        Timestamp(millisecondsSince1970: now.millisecondsSince1970 / 1000 * 1000)
    }

    /// A random time between two bounds.
    mutating func pause(_ range: ClosedRange<Int64>) -> Duration {
        .seconds(Int64.random(in: range, using: &generator))
    }

    /// A charge for a period of a plan. `subscription` is the contract it belongs to, nil for a first one; `price` is that of one seat.
    mutating func charge(
        for product: SimulatedProduct,
        from purchaseDate: Timestamp,
        reason: TransactionReason,
        offer: SimulatedOffer? = nil,
        token: UUID?,
        in subscription: SimulatedSubscription?,
        price: Int64? = nil,
        terms: PurchaseTerms
    ) -> SimulatedTransaction {
        let transactionID = identifiers.nextTransactionID(using: &generator)
        let period = offer?.period ?? product.period
        let usual = terms.commitment?.monthlyPrice ?? subscription?.agreedPrices[product.id] ?? product.price
        let paid = offer?.price ?? price ?? usual
        var transaction = SimulatedTransaction(
            transactionID: transactionID,
            originalTransactionID: subscription?.originalTransactionID ?? assignment?.contract?.originalTransactionID ?? transactionID,
            webOrderLineItemID: identifiers.nextLineItemID(using: &generator),
            product: product,
            purchaseDate: purchaseDate,
            originalPurchaseDate: subscription?.originalPurchaseDate ?? assignment?.contract?.originalPurchaseDate ?? purchaseDate,
            expiresDate: (period ?? .months(1)).end(from: purchaseDate),
            appAccountToken: token,
            ownership: ownership,
            reason: reason,
            price: ownership == .familyShared ? nil : paid,
            offer: offer,
            appTransactionID: appTransactionID,
            advancedCommerce: subscription?.advancedCommerce
        )
        if let seats = terms.seats { transaction.cover(seats.quantity, of: seats, at: paid) }
        if let commitment = terms.commitment { transaction.pay(commitment) }
        if let assignment { transaction.assign(assignment) }
        return transaction
    }

    /// The remaining offer after one of its periods was charged.
    static func remainder(of offer: SimulatedOffer?) -> SimulatedOffer? {
        guard var offer, offer.periodCount > 1 else { return nil }
        offer.periodCount -= 1
        return offer
    }

    /// Revokes a charge, or (nil) reverses that: all transactions of its period but those for other seats, or the one-time charge. Returns its
    /// new state.
    mutating func setRevocation(
        _ revocation: SimulatedTransaction.Revocation?,
        of transaction: SimulatedTransaction
    ) -> SimulatedTransaction {
        subscription?.changePurchase(of: transaction) { $0.revocation = revocation }
        if let index = oneTimeCharges.firstIndex(where: { $0.transactionID == transaction.transactionID }) {
            oneTimeCharges[index].revocation = revocation
        }
        return self.transaction(transaction.transactionID) ?? transaction
    }
}
