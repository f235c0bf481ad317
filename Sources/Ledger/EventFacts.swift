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

/// What Apple says of an Apple Account's download of an app, and which user's app posted it.
package struct AppTransactionFact: Sendable {
    /// Environment and appTransactionId.
    package let key: LedgerKey
    package let version: Version
    package let bundleID: String
    private let shared: SharedValue<AppTransaction>
    package var app: AppTransaction { _read { yield shared.value } }
    /// The user's app posted it; nil where Apple sent it, or no user claims it.
    package var post: Post?

    /// A user's app posted an app transaction. The first post counts, by arrival.
    package struct Post: Sendable {
        package let user: String
        /// When the event came in, in whole milliseconds; independent of when it is processed.
        package let receivedAt: Timestamp

        package init(user: String, receivedAt: Timestamp) {
            self.user = user
            self.receivedAt = receivedAt
        }
    }

    package init(key: LedgerKey, version: Version, bundleID: String, app: AppTransaction) {
        self.key = key
        self.version = version
        self.bundleID = bundleID
        shared = SharedValue(app)
    }
}

/// What one notification says of a token for purchases outside the App Store.
package struct ExternalPurchaseTokenFact: Sendable {
    /// Environment and externalPurchaseId.
    package let key: LedgerKey
    /// The signing date of the notification, then the hash of its payload.
    package let version: Version
    package let bundleID: String
    private let shared: SharedValue<ExternalPurchaseToken>
    package var token: ExternalPurchaseToken { _read { yield shared.value } }
    /// Nil where it has none, or one that cannot be read.
    package let subtype: Subtype?

    package init(key: LedgerKey, version: Version, bundleID: String, token: ExternalPurchaseToken, subtype: Subtype?) {
        self.key = key
        self.version = version
        self.bundleID = bundleID
        shared = SharedValue(token)
        self.subtype = subtype
    }
}

/// A call to an external service that an event asks for. The transaction that merges the event's facts writes the call; the outbox makes it
/// later. It is not part of the ledger, because its answer depends on when it is made.
package struct OutboundCall: Hashable, Sendable {
    /// The kind of call in the outbox, such as `verify_receipt`.
    package let kind: String
    /// What is asked, up to 255 bytes: a kind has at most one open call with the same key.
    package let key: String
    package let bundleID: String
    /// The event whose body has the data of the call.
    package let eventID: Int64
    /// The source under which the event's receipt enters the inbox again when there is no answer; nil for no fallback.
    package let fallback: String?
    /// How long the outbox tries.
    package let timeLimit: Duration

    package init(
        kind: String,
        key: String,
        bundleID: String,
        eventID: Int64,
        fallback: String? = nil,
        timeLimit: Duration = .seconds(86_400)
    ) {
        self.kind = kind
        self.key = key
        self.bundleID = bundleID
        self.eventID = eventID
        self.fallback = fallback
        self.timeLimit = timeLimit
    }
}
