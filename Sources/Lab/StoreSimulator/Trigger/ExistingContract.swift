package import AppStore

/// A contract as an inbox knows it, for a trigger that takes it further: its current charge and the state of its renewal.
package struct ExistingContract: Sendable {
    package let app: SimulatedApp
    /// The current charge.
    package var transaction: SimulatedTransaction
    /// Nil for products that do not renew.
    package var status: Status?
    package var autoRenews = true

    package init(
        app: SimulatedApp,
        product: SimulatedProduct,
        transactionID: String,
        originalTransactionID: String,
        purchaseDate: Timestamp,
        originalPurchaseDate: Timestamp
    ) {
        self.app = app
        transaction = SimulatedTransaction(
            transactionID: transactionID,
            originalTransactionID: originalTransactionID,
            webOrderLineItemID: nil,
            product: product,
            purchaseDate: purchaseDate,
            originalPurchaseDate: originalPurchaseDate,
            price: product.price,
            appTransactionID: ""
        )
    }

    /// Ends the current period by an instant, if it lasts longer. It lasts a second at least.
    mutating func endPeriod(by instant: Timestamp) {
        guard let end = transaction.expiresDate else { return }
        transaction.expiresDate = max(min(end, instant), transaction.purchaseDate.advanced(by: .seconds(1)))
    }
}

extension CustomerLife {
    /// Takes over a contract. The clock is at the purchase of its current charge.
    mutating func adopt(_ contract: ExistingContract) {
        let charge = contract.transaction
        now = charge.purchaseDate
        ownership = charge.ownership
        if !charge.appTransactionID.isEmpty { appTransactionID = charge.appTransactionID }
        // Later charges have greater numbers. A line item of its own keeps each period apart.
        if let number = UInt64(charge.transactionID) {
            identifiers = IdentifierSequence(transaction: number, lineItem: charge.webOrderLineItemID.flatMap { UInt64($0) } ?? number)
        }
        guard charge.product.isSubscription else { return oneTimeCharges = [charge] }
        var subscription = SimulatedSubscription(first: charge, nextOffer: nil)
        subscription.autoRenews = contract.autoRenews
        subscription.phase = Self.phase(contract)
        self.subscription = subscription
    }

    private static func phase(_ contract: ExistingContract) -> SimulatedSubscription.Phase {
        if contract.transaction.revocation != nil { return .revoked }
        return switch contract.status {
        case .expired?: .expired(.customerCancelled)
        case .billingRetry?: .billingRetry
        // Until Apple says that it is over.
        case .billingGracePeriod?: .gracePeriod(until: contract.transaction.purchaseDate.advanced(by: .seconds(400 * 86_400)))
        case .revoked?: .revoked
        default: .active
        }
    }
}
