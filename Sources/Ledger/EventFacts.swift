package import AppStore
package import FoundationEssentials

/// What a verified event says, ready to be merged.
package struct EventFacts: Sendable {
    package let eventID: Int64
    package let environment: AppStoreEnvironment
    /// Nil where the source has none, such as a client's own transaction.
    package let notificationUUID: UUID?
    package var transaction: TransactionFact?
    /// What a verified receipt, or Apple's answer about one, says of charges.
    package var receipts: [ReceiptFact]
    /// Charges of a verified receipt that Apple is asked about, whose answer brings them: they say what the event is about, and are not merged.
    package var awaitedReceipts: [ReceiptFact] = []
    package var subscription: SubscriptionFact?
    package var legacyRenewals: [LegacyRenewalFact]
    /// That a user's app posted the transaction, or a receipt: one post for each contract in it.
    package var posts: [ClientPost]
    package var refundStatement: RefundStatement?
    package var effects: [Effect]
    /// What is to be asked outside.
    package var calls: [OutboundCall]
    /// Why the event's meaning is not known, although its facts are merged; nil when it is.
    package var unhandledReason: String?
    /// What is told beside the result and does not change it.
    package var remark: String?

    package init(
        eventID: Int64,
        environment: AppStoreEnvironment,
        notificationUUID: UUID?,
        transaction: TransactionFact? = nil,
        receipts: [ReceiptFact] = [],
        subscription: SubscriptionFact? = nil,
        legacyRenewals: [LegacyRenewalFact] = [],
        posts: [ClientPost] = [],
        refundStatement: RefundStatement? = nil,
        effects: [Effect] = [],
        calls: [OutboundCall] = [],
        unhandledReason: String? = nil
    ) {
        self.eventID = eventID
        self.environment = environment
        self.notificationUUID = notificationUUID
        self.transaction = transaction
        self.receipts = receipts
        self.subscription = subscription
        self.legacyRenewals = legacyRenewals
        self.posts = posts
        self.refundStatement = refundStatement
        self.effects = effects
        self.calls = calls
        self.unhandledReason = unhandledReason
    }

    package var notificationKey: NotificationKey? {
        notificationUUID.map { NotificationKey(environment: environment, uuid: $0) }
    }

    /// The post that names the transaction that was posted or, of a receipt, just made; nil when none does.
    package var namingPost: ClientPost? { posts.first { $0.key.transactionID != nil } }

    /// Whether there is nothing to merge.
    var saysNothing: Bool {
        transaction == nil && receipts.isEmpty && subscription == nil && legacyRenewals.isEmpty && posts.isEmpty && effects.isEmpty
    }

    /// The charges that the event's receipt holds, whoever brings them into the books.
    package var receiptsInside: [ReceiptFact] { receipts + awaitedReceipts }

    /// The contracts, no consumables, that the event is about, each once; a consumable's charge is found by its own id.
    package var contracts: Set<LedgerKey> {
        let charged = receiptsInside.lazy.filter { $0.isSubscription || $0.content.productType != .consumable }
            .map { LedgerKey(environment: $0.key.environment, id: $0.originalTransactionID) }
        return Set(charged).union(legacyRenewals.lazy.map(\.contract))
    }

    /// The contracts, a consumable's charge for one, that a merge of the event may lock.
    package var lockedContracts: Set<LedgerKey> {
        var locked = contracts.union(posts.lazy.map(\.key.contract))
        if let subscription { locked.insert(subscription.key) }
        if let transaction { locked.insert(LedgerKey(environment: transaction.key.environment, id: transaction.originalTransactionID)) }
        return locked
    }
}
