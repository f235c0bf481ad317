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

    /// A pending price increase.
    package struct PriceIncrease: Hashable, Sendable {
        package var price: Int64
        package var isAccepted: Bool
    }

    init(first transaction: SimulatedTransaction, nextOffer: SimulatedOffer?) {
        originalTransactionID = transaction.originalTransactionID
        originalPurchaseDate = transaction.originalPurchaseDate
        transactions = [transaction]
        nextProduct = transaction.product
        appAccountToken = transaction.appAccountToken
        recentStartDate = transaction.purchaseDate
        upcomingOffer = nextOffer
    }

    /// The latest charge.
    package internal(set) var current: SimulatedTransaction {
        get { transactions[transactions.count - 1] }
        set { transactions[transactions.count - 1] = newValue }
    }

    /// Whether a transaction belongs to the period of the latest charge.
    func isCurrent(_ transaction: SimulatedTransaction) -> Bool {
        transaction.webOrderLineItemID != nil && transaction.webOrderLineItemID == current.webOrderLineItemID
    }

    /// Changes all transactions of the same period.
    mutating func changePeriod(of transaction: SimulatedTransaction, _ change: (inout SimulatedTransaction) -> Void) {
        guard let lineItem = transaction.webOrderLineItemID else { return }
        for index in transactions.indices where transactions[index].webOrderLineItemID == lineItem { change(&transactions[index]) }
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

    /// The price of the next renewal.
    var renewalPrice: Int64 {
        upcomingOffer?.price ?? priceIncrease?.price ?? advancedCommerce?.scheduledPrice ?? agreedPrices[nextProduct.id]
            ?? nextProduct.price
    }

    /// The renewal info that the store would sign now.
    package var renewalInfo: SimulatedRenewalInfo {
        SimulatedRenewalInfo(
            originalTransactionID: originalTransactionID,
            autoRenewProduct: nextProduct,
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
            renewalPrice: autoRenews && current.price != nil ? renewalPrice : nil,
            appAccountToken: appAccountToken,
            appTransactionID: current.appTransactionID,
            advancedCommerce: advancedCommerce
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
