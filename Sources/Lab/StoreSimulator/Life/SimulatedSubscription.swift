package import AppStore
package import FoundationEssentials

/// A customer's subscription in the app's group, as the store knows it: the contract that originalTransactionId names.
package struct SimulatedSubscription: Hashable, Sendable {
    /// The state of the contract.
    package enum Phase: Hashable, Sendable {
        /// Paid for. Can transition to: gracePeriod, billingRetry, expired, revoked.
        case active
        /// Not paid; service continues until the associated time. Can transition to: active, billingRetry, revoked.
        case gracePeriod(until: Timestamp)
        /// Not paid, no service. Can transition to: active, expired, revoked.
        case billingRetry
        /// Can transition to: active.
        case expired(ExpirationIntent)
        /// The period was refunded or is no longer shared. Can transition to: active, expired.
        case revoked
    }

    package let originalTransactionID: String
    package let originalPurchaseDate: Timestamp
    /// All charges, in the order of their purchase; never empty.
    package internal(set) var transactions: [SimulatedTransaction]
    package internal(set) var phase = Phase.active
    package internal(set) var autoRenews = true
    /// The product of the next renewal.
    package internal(set) var nextProduct: SimulatedProduct
    /// The token that renewals repeat: that of the latest purchase made in the app.
    package internal(set) var appAccountToken: UUID?
    /// The start of the latest unbroken run of periods.
    package internal(set) var recentStartDate: Timestamp
    /// The discount of the next renewals, and for how many.
    package internal(set) var upcomingOffer: SimulatedOffer?
    package internal(set) var priceIncrease: PriceIncrease?
    /// Prices that the customer has agreed to, by product.
    package internal(set) var agreedPrices: [String: Int64] = [:]
    package internal(set) var advancedCommerce: AdvancedCommerceDetails?
    /// What the next charge is for.
    package internal(set) var terms: PurchaseTerms

    /// A pending price increase.
    package struct PriceIncrease: Hashable, Sendable {
        package var price: Int64
        package var isAccepted: Bool
    }

    init(first transaction: SimulatedTransaction, nextOffer: SimulatedOffer?, terms: PurchaseTerms = PurchaseTerms()) {
        originalTransactionID = transaction.originalTransactionID
        originalPurchaseDate = transaction.originalPurchaseDate
        transactions = [transaction]
        nextProduct = transaction.product
        appAccountToken = transaction.appAccountToken
        recentStartDate = transaction.purchaseDate
        upcomingOffer = nextOffer
        self.terms = terms
    }

    /// The latest charge; not an addition of seats that is refunded while others of its period are not.
    package internal(set) var current: SimulatedTransaction {
        get { transactions[currentIndex] }
        set { transactions[currentIndex] = newValue }
    }

    private var currentIndex: Int {
        let last = transactions.count - 1
        guard transactions[last].hasSeatAddition, transactions[last].revocation != nil else { return last }
        return period(of: transactions[last]).last { transactions[$0].revocation == nil } ?? last
    }

    /// The transactions that are the current period together: several after an addition of seats.
    package var parts: [SimulatedTransaction] { current.hasSeatAddition ? period(of: current).map { transactions[$0] } : [current] }

    /// Whether the current period has other transactionIds that no seats were added by.
    var hasCopies: Bool { !current.hasSeatAddition && period(of: current).count > 1 }

    /// Whether a transaction belongs to the period of the latest charge.
    func isCurrent(_ transaction: SimulatedTransaction) -> Bool {
        period(of: current).contains { transactions[$0].transactionID == transaction.transactionID }
    }

    /// Changes all transactions of the same period.
    mutating func changePeriod(of transaction: SimulatedTransaction, _ change: (inout SimulatedTransaction) -> Void) {
        for index in period(of: transaction) { change(&transactions[index]) }
    }

    /// Changes the transaction, and others of its period unless these are for other seats.
    mutating func changePurchase(of transaction: SimulatedTransaction, _ change: (inout SimulatedTransaction) -> Void) {
        for index in period(of: transaction)
        where !transaction.hasSeatAddition || transactions[index].transactionID == transaction.transactionID {
            change(&transactions[index])
        }
    }

    /// The indices of the transactions of a period. Those of an addition may have line items of their own.
    private func period(of transaction: SimulatedTransaction) -> [Int] {
        transactions.indices.filter { index in
            let other = transactions[index]
            guard transaction.hasSeatAddition else {
                return transaction.webOrderLineItemID != nil && other.webOrderLineItemID == transaction.webOrderLineItemID
            }
            return other.hasSeatAddition && other.expiresDate == transaction.expiresDate && other.product.id == transaction.product.id
        }
    }

    /// When the latest charge's period ends.
    package var expiresDate: Timestamp { current.expiresDate ?? current.purchaseDate }

    /// The value of `data.status` in the contract's notifications.
    package var status: Status {
        switch phase {
        case .active: .active
        case .gracePeriod: .billingGracePeriod
        case .billingRetry: .billingRetry
        case .expired: .expired
        case .revoked: .revoked
        }
    }

    /// Whether a price increase awaits the customer's consent.
    package var awaitsConsent: Bool { priceIncrease.map { !$0.isAccepted } ?? false }

    /// The commitment whose next month the next charge pays; none after the last month if the next product is another one.
    var nextCommitment: CommitmentTerms? {
        guard let commitment = terms.commitment, !commitment.isInLastMonth || nextProduct.id == current.product.id else { return nil }
        return commitment
    }

    /// The product of the next renewal: within a commitment the current one.
    var renewalProduct: SimulatedProduct { terms.commitment?.isInLastMonth == false ? current.product : nextProduct }

    /// The price of the next renewal, of one seat.
    var renewalPrice: Int64 {
        upcomingOffer?.price ?? nextCommitment?.monthlyPrice ?? priceIncrease?.price ?? advancedCommerce?.scheduledPrice
            ?? agreedPrices[nextProduct.id] ?? nextProduct.price
    }

    /// Whether another period will be charged. In a commitment that the customer has cancelled, all months are: autoRenewStatus stays 1.
    package var willRenew: Bool { autoRenews && !(terms.commitment.map { !$0.renews && $0.isInLastMonth } ?? false) }

    /// Whether the customer has not unsubscribed.
    package var isSetToRenew: Bool { autoRenews && terms.commitment?.renews ?? true }

    /// Ends automatic renewal, also that of a commitment.
    mutating func stopRenewing() {
        autoRenews = false
        terms.commitment?.renews = false
    }

    /// The renewal info that the store would sign now.
    package var renewalInfo: SimulatedRenewalInfo {
        let hasPrice = autoRenews && current.price != nil
        let tiers = hasPrice ? terms.seats.map { $0.tiers(of: $0.quantity, at: renewalPrice) } : nil
        // Apple documents them of the purchaser only.
        let showsSeats = tiers != nil && current.ownership == .purchased
        return SimulatedRenewalInfo(
            originalTransactionID: originalTransactionID,
            autoRenewProduct: renewalProduct,
            productID: current.product.id,
            autoRenews: autoRenews,
            expirationIntent: expirationIntent,
            isInBillingRetryPeriod: isInBillingRetryPeriod,
            priceIncreaseStatus: priceIncrease.map {
                $0.isAccepted ? .customerConsentedOrWasNotifiedWithoutNeedingConsent : .customerHasNotResponded
            },
            gracePeriodExpiresDate: gracePeriodExpiresDate,
            offer: autoRenews ? upcomingOffer : nil,
            recentSubscriptionStartDate: recentStartDate,
            renewalDate: expiresDate,
            renewalPrice: hasPrice ? tiers?.averagePrice ?? renewalPrice : nil,
            appAccountToken: appAccountToken,
            appTransactionID: current.appTransactionID,
            advancedCommerce: advancedCommerce,
            renewalQuantity: showsSeats ? terms.seats?.quantity : nil,
            renewalTiers: showsSeats ? tiers : nil,
            commitment: renewalCommitment
        )
    }

    private var renewalCommitment: SimulatedRenewalCommitment? {
        guard let commitment = terms.commitment, let paid = current.commitment else { return nil }
        return SimulatedRenewalCommitment(
            productID: nextProduct.id,
            renews: commitment.renews,
            renewalDate: paid.expiresDate,
            price: commitment.totalPrice
        )
    }

    private var expirationIntent: ExpirationIntent? {
        switch phase {
        case .expired(let intent): intent
        case .billingRetry: .billingError
        case .active, .gracePeriod, .revoked: nil
        }
    }

    private var isInBillingRetryPeriod: Bool? {
        switch phase {
        case .gracePeriod, .billingRetry: true
        case .expired: false
        case .active, .revoked: nil
        }
    }

    private var gracePeriodExpiresDate: Timestamp? {
        guard case .gracePeriod(let until) = phase else { return nil }
        return until
    }
}
