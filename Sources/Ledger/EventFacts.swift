package import AppStore

/// What a verified event says, ready to be merged.
package struct EventFacts: Sendable {
    package let eventID: Int64
    package let environment: AppStoreEnvironment
    /// Nil where the source has none, such as a client's own transaction.
    package let notificationUUID: String?
    package var transaction: TransactionFact?
    /// What a verified receipt, or Apple's answer about one, says of charges.
    package var receipts: [ReceiptFact]
    /// Charges of a verified receipt that Apple is asked about, whose answer brings them: they say what the event is about, and are not merged.
    package var awaitedReceipts: [ReceiptFact] = []
    package var subscription: SubscriptionFact?
    package var legacyRenewals: [LegacyRenewalFact]
    /// That somebody says the charge is his.
    package var submission: Submission?
    /// That somebody's app posted a receipt with these contracts in it.
    package var receiptSubmissions: [ReceiptSubmission]
    /// The charge that somebody's app named as the purchase just made, and whose app it was; nil when none was.
    package var namedCharge: Submission.Key?
    package var refundStatement: RefundStatement?
    package var effects: [Effect]
    /// What is to be asked outside.
    package var calls: [OutboundCall]
    /// Why nobody knows what the event means, although its facts are merged; nil when its meaning is known.
    package var unhandledReason: String?
    /// What is told beside the result and does not change it.
    package var remark: String?

    package init(
        eventID: Int64,
        environment: AppStoreEnvironment,
        notificationUUID: String?,
        transaction: TransactionFact? = nil,
        receipts: [ReceiptFact] = [],
        subscription: SubscriptionFact? = nil,
        legacyRenewals: [LegacyRenewalFact] = [],
        submission: Submission? = nil,
        receiptSubmissions: [ReceiptSubmission] = [],
        namedCharge: Submission.Key? = nil,
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
        self.submission = submission
        self.receiptSubmissions = receiptSubmissions
        self.namedCharge = namedCharge
        self.refundStatement = refundStatement
        self.effects = effects
        self.calls = calls
        self.unhandledReason = unhandledReason
    }

    /// The notification's identity within its environment.
    package var notificationKey: LedgerKey? {
        notificationUUID.map { LedgerKey(environment: environment, id: $0) }
    }

    /// Whether there is nothing to merge.
    var saysNothing: Bool {
        transaction == nil && receipts.isEmpty && subscription == nil && legacyRenewals.isEmpty && receiptSubmissions.isEmpty
            && effects.isEmpty
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
        var locked = contracts.union(receiptSubmissions.lazy.map(\.key.contract))
        if let subscription { locked.insert(subscription.key) }
        if let transaction { locked.insert(LedgerKey(environment: transaction.key.environment, id: transaction.originalTransactionID)) }
        if let submission { locked.insert(LedgerKey(environment: submission.key.charge.environment, id: submission.originalTransactionID)) }
        return locked
    }
}
