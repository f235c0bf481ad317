package import AppStore

/// What one verified payload says about one charge.
package struct TransactionFact: Charge, Sendable {
    package let key: LedgerKey
    package let version: Version
    package let originalTransactionID: String
    package let bundleID: String
    package let productID: String
    package private(set) var purchaseDate: Timestamp
    private let shared: SharedValue<JWSTransactionDecodedPayload>
    /// The whole payload.
    package var payload: JWSTransactionDecodedPayload { _read { yield shared.value } }

    /// Throws ``IncompleteFact`` when a member is missing that the ledger needs.
    package init(_ payload: JWSTransactionDecodedPayload, environment: AppStoreEnvironment, version: Version) throws(IncompleteFact) {
        func required<Value>(_ value: Value?, _ member: String) throws(IncompleteFact) -> Value {
            guard let value else { throw IncompleteFact(missing: member) }
            return value
        }
        key = LedgerKey(environment: environment, id: try required(payload.transactionId, "transactionId"))
        originalTransactionID = try required(payload.originalTransactionId, "originalTransactionId")
        bundleID = try required(payload.bundleId, "bundleId")
        productID = try required(payload.productId, "productId")
        let charged = try required(payload.purchaseDate, "purchaseDate")
        self.version = version
        shared = SharedValue(payload)
        purchaseDate = charged
        if isCopy { purchaseDate = payload.originalPurchaseDate ?? charged }
    }

    /// Whether the charge belongs to a contract.
    package var isSubscription: Bool {
        payload.type?.isSubscription
            ?? (payload.webOrderLineItemId != nil || (payload.expiresDate != nil && payload.subscriptionGroupIdentifier != nil))
    }

    /// Whether the customer paid for it; else it is shared, assigned, or theirs in a way that this version does not know.
    package var isPurchased: Bool { payload.inAppOwnershipType?.isPurchase ?? true }

    /// Whether its revocation, if it has one, gave money back.
    package var isRefund: Bool { isPurchased && payload.revocationType?.isRefund ?? true }

    /// What was paid, in thousandths of the currency's unit; see `appstoreserverapi/transactionmultiseatinfo`.
    ///
    /// Of seats of a group it is the sum of their tiers, since `price` is then the average for one seat, rounded. Without readable tiers that
    /// average counts for each seat. Several of any other product have one price together.
    package var price: Int64? {
        if let total = payload.multiSeatInfo?.total { return total }
        guard isSubscription, let price = payload.price, let quantity = payload.quantity, quantity > 1 else { return payload.price }
        let (product, overflow) = price.multipliedReportingOverflow(by: Int64(quantity))
        return overflow ? price : product
    }

    package var isConsumable: Bool { payload.type == .consumable }

    package var webOrderLineItemID: String? { payload.webOrderLineItemId }
}

/// A verified payload that lacks a member that the ledger needs.
package struct IncompleteFact: Error, Hashable, Sendable {
    /// The member's name, such as `purchaseDate`.
    package let missing: String
}
