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
        payload.type == .autoRenewableSubscription || (payload.type == nil && payload.webOrderLineItemId != nil)
    }

    /// Whether the user has it through the purchase of another family member.
    package var isFamilyShared: Bool { payload.inAppOwnershipType == .familyShared }

    package var isConsumable: Bool { payload.type == .consumable }

    package var webOrderLineItemID: String? { payload.webOrderLineItemId }
}

/// A verified payload that lacks a member that the ledger needs.
package struct IncompleteFact: Error, Hashable, Sendable {
    /// The member's name, such as `purchaseDate`.
    package let missing: String
}
