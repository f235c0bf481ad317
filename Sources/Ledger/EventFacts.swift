package import AppStore
package import FoundationEssentials

/// What a verified event says, ready to be merged.
package struct EventFacts: Sendable {
    package let eventID: Int64
    package let environment: AppStoreEnvironment
    /// Nil where the source has none, such as a client's own transaction.
    package let notificationUUID: UUID?
    package var transaction: TransactionFact?
    /// Charges in a verified receipt, or in Apple's answer about one.
    package var receipts: [ReceiptFact] = []
    /// Charges of a verified receipt that Apple is asked about. Of these only the types are merged, because Apple's answer brings the rest:
    /// it may know of a refund or of a family's purchase, and has no types.
    package var awaitedReceipts: [ReceiptFact] = []
    package var subscription: SubscriptionFact?
    package var legacyRenewals: [V1RenewalFact] = []
    /// Claims of a user to own the charges: one for the posted transaction, or one for each contract in the posted receipt.
    package var posts: [ClientPost] = []
    package var refundStatement: RefundRequestFact?
    package var externalPurchaseToken: ExternalPurchaseTokenFact?
    package var appTransaction: AppTransactionFact?
    package var effects: [Effect] = []
    /// Calls for the outbox.
    package var calls: [OutboundCall] = []
    /// Why the event's meaning is unknown, although its facts are merged; nil when it is known.
    package var unhandledReason: String?
    /// A remark beside the result, which it does not change.
    package var remark: String?

    package init(eventID: Int64, environment: AppStoreEnvironment, notificationUUID: UUID?) {
        self.eventID = eventID
        self.environment = environment
        self.notificationUUID = notificationUUID
    }

    package var notificationKey: NotificationKey? {
        notificationUUID.map { NotificationKey(environment: environment, uuid: $0) }
    }

    /// The post that names the posted transaction or, for a receipt, the purchase just made; nil when none does.
    package var namingPost: ClientPost? { posts.first { $0.key.transactionID != nil } }

    /// Whether there is nothing to merge.
    var isEmpty: Bool {
        transaction == nil && receipts.isEmpty && subscription == nil && legacyRenewals.isEmpty && posts.isEmpty && effects.isEmpty
            && externalPurchaseToken == nil && appTransaction == nil
    }

    /// All charges in the event's receipt, whether this event or Apple's answer brings them into the ledger.
    package var allReceipts: [ReceiptFact] { receipts + awaitedReceipts }

    /// The types of the charges that Apple's answer brings.
    package var postedTypes: [(key: LedgerKey, type: ProductType)] {
        awaitedReceipts.compactMap { fact in fact.content.productType.map { (fact.key, $0) } }
    }

    /// The contracts that the event is about. Consumables have none: their charges are found by their own ids.
    package var contracts: Set<LedgerKey> {
        let charged = allReceipts.lazy.filter { $0.isSubscription || $0.content.productType != .consumable }
            .map { LedgerKey(environment: $0.key.environment, id: $0.originalTransactionID) }
        return Set(charged).union(legacyRenewals.lazy.map(\.contract))
    }

    /// The contracts that a merge of the event locks first; a consumable's charge counts as one.
    package var lockedContracts: Set<LedgerKey> {
        var locked = contracts.union(posts.lazy.map(\.key.contract))
        locked.formUnion(allReceipts.lazy.map { LedgerKey(environment: $0.key.environment, id: $0.originalTransactionID) })
        if let subscription { locked.insert(subscription.key) }
        if let transaction { locked.insert(LedgerKey(environment: transaction.key.environment, id: transaction.originalTransactionID)) }
        return locked
    }
}
