package import AppStore

/// The facts of a batch of events, joined so that each row of the ledger is written once. It also derives each event's result from the
/// result of the merge.
package struct BatchFold: Sendable {
    /// In the order of processing.
    package let events: [EventFacts]
    package private(set) var transactions: [LedgerKey: TransactionRegister] = [:]
    /// The types in posted receipts of charges that Apple's answer brings; of several the greatest, as in ``ReceiptHalf``.
    package private(set) var postedTypes: [LedgerKey: ProductType] = [:]
    package private(set) var subscriptions: [LedgerKey: SubscriptionFact] = [:]
    package private(set) var legacyRenewals: [V1RenewalFact.Key: V1RenewalFact] = [:]
    package private(set) var posts: [ClientPost.Key: ClientPost] = [:]
    package private(set) var refundStatements: [NotificationKey: RefundRequestFact] = [:]
    /// Each with the first event that has it.
    package private(set) var effects: [EffectKey: (effect: Effect, eventID: Int64)] = [:]
    /// The first event of each notification.
    package private(set) var notifications: [NotificationKey: Int64] = [:]
    /// The contracts that the merge locks first.
    package private(set) var lockedContracts: Set<LedgerKey> = []
    /// Events whose transaction, or renewal, was the newest of its key when they were added.
    private var leadingTransactions: Set<Int64> = []
    private var leadingSubscriptions: Set<Int64> = []
    /// The same for events with many facts: the keys of which the event had the newest fact.
    private var leadingReceipts: [Int64: Set<LedgerKey>] = [:]
    private var leadingLegacyRenewals: [Int64: Set<V1RenewalFact.Key>] = [:]

    package init(_ events: [EventFacts]) {
        self.events = events
        for event in events {
            add(event)
        }
    }

    private mutating func add(_ event: EventFacts) {
        if let key = event.notificationKey, notifications[key] == nil { notifications[key] = event.eventID }
        lockedContracts.formUnion(event.lockedContracts)
        if let fact = event.transaction {
            let known = transactions[fact.key]?.signed?.version
            if known.map({ $0 < fact.version }) ?? true { leadingTransactions.insert(event.eventID) }
            add(TransactionRegister(fact), of: fact.key)
        }
        for fact in event.receipts {
            let known = transactions[fact.key]?.receipt?.latest.version
            if known.map({ $0 < fact.version }) ?? true { leadingReceipts[event.eventID, default: []].insert(fact.key) }
            add(TransactionRegister(fact), of: fact.key)
        }
        for posted in event.postedTypes {
            postedTypes[posted.key] = ReceiptHalf.greater(postedTypes[posted.key]?.rawValue, posted.type.rawValue).map(ProductType.init)
        }
        if let fact = event.subscription {
            if let known = subscriptions[fact.key] {
                if known.version < fact.version { leadingSubscriptions.insert(event.eventID) }
                subscriptions[fact.key]?.join(fact)
            } else {
                leadingSubscriptions.insert(event.eventID)
                subscriptions[fact.key] = fact
            }
        }
        for fact in event.legacyRenewals {
            let known = legacyRenewals[fact.key]?.version
            if known.map({ $0 < fact.version }) ?? true { leadingLegacyRenewals[event.eventID, default: []].insert(fact.key) }
            legacyRenewals[fact.key, default: fact].join(fact)
        }
        for post in event.posts { posts[post.key, default: post].join(post) }
        if let statement = event.refundStatement { refundStatements[statement.key, default: statement].join(statement) }
        for effect in event.effects where effects[effect.key] == nil {
            effects[effect.key] = (effect, event.eventID)
        }
    }

    private mutating func add(_ register: TransactionRegister, of key: LedgerKey) {
        if transactions[key]?.join(register) == nil { transactions[key] = register }
    }

    /// Charges whose type may be one of a posted receipt: those that were posted, and those of which no JWS has a type.
    package var typedByPosts: Set<LedgerKey> {
        Set(postedTypes.keys).union(transactions.lazy.filter { $0.value.signedType == nil }.map(\.key))
    }

    /// The result of an event after the merge.
    package func result(of event: EventFacts, after merged: MergeResult) -> EventResult {
        if let key = event.notificationKey, let first = merged.firstEvents[key], first != event.eventID { return .duplicate }
        if event.unhandledReason != nil { return .unhandled }
        if event.isEmpty { return .noEffect }
        if let statement = event.refundStatement, merged.movedRefundStatements.contains(statement.key) { return .applied }
        if merged.movedStatements.contains(event.eventID) { return .applied }
        let movedTransaction = event.transaction.map { merged.movedTransactions.contains($0.key) } ?? false
        let movedSubscription = event.subscription.map { merged.movedSubscriptions.contains($0.key) } ?? false
        if movedTransaction, leadingTransactions.contains(event.eventID) { return .applied }
        if movedSubscription, leadingSubscriptions.contains(event.eventID) { return .applied }
        if !merged.movedReceipts.isDisjoint(with: leadingReceipts[event.eventID] ?? []) { return .applied }
        if !merged.movedLegacyRenewals.isDisjoint(with: leadingLegacyRenewals[event.eventID] ?? []) { return .applied }
        if event.posts.contains(where: { merged.posts[$0.key]?.firstEventID == event.eventID }) { return .applied }
        if event.effects.contains(where: { merged.effectEvents[$0.key] == event.eventID }) { return .applied }
        return .superseded
    }

    /// Why the transaction, or the app transaction, that the event's post names does not belong to the user; nil when it does, or when the event
    /// names none.
    package func ownershipDoubt(of event: EventFacts, after merged: MergeResult) -> OwnershipDoubt? {
        if let post = event.appTransaction?.post, let user = merged.appTransactionUsers[event.eventID] {
            return post.user.utf8.elementsEqual(user.utf8) ? nil : .conflict
        }
        guard let key = event.namingPost?.key else { return nil }
        guard let owner = merged.posts[key]?.owner else { return .unknown }
        return key.isUser(owner) ? nil : .conflict
    }

    /// Whether the event brought the first post of the user, and the purchase that it names was a forgotten user's.
    package func takesOver(_ event: EventFacts, after merged: MergeResult) -> Bool {
        guard let key = event.namingPost?.key, let post = merged.posts[key], post.wasForgotten else { return false }
        return post.firstEventID == event.eventID && post.owner.map(key.isUser) ?? false
    }
}

/// What a merge changed in the ledger, and which event came first.
package struct MergeResult: Sendable {
    /// Charges whose register now holds this batch's fact and did not before.
    package var movedTransactions: Set<LedgerKey> = []
    package var movedSubscriptions: Set<LedgerKey> = []
    /// Charges whose receipt half now holds this batch's fact and did not before.
    package var movedReceipts: Set<LedgerKey> = []
    package var movedLegacyRenewals: Set<V1RenewalFact.Key> = []
    /// The notifications that said something new about a refund.
    package var movedRefundStatements: Set<NotificationKey> = []
    /// Events that changed a row of a register whose statements are merged one by one.
    package var movedStatements: Set<Int64> = []
    /// Of each event with an app transaction, the user whose app posted it first; nil where none has.
    package var appTransactionUsers: [Int64: String] = [:]
    /// The first event of each notification, in this batch or an earlier one.
    package var firstEvents: [NotificationKey: Int64] = [:]
    /// The event that brought each effect, in this batch or an earlier one.
    package var effectEvents: [EffectKey: Int64] = [:]
    /// Each post of the batch, as the ledger has it.
    package var posts: [ClientPost.Key: KnownPost] = [:]

    /// A client's post, as the ledger has it.
    package struct KnownPost: Hashable, Sendable {
        /// The user of the order that the named transaction pays, unless forgotten, else of its contract; nil where there is none.
        package var owner: String?
        /// The first event with the post, in this batch or an earlier one.
        package var firstEventID: Int64
        /// Whether a user who was forgotten owned the contract.
        package var wasForgotten: Bool

        package init(owner: String?, firstEventID: Int64, wasForgotten: Bool = false) {
            self.owner = owner
            self.firstEventID = firstEventID
            self.wasForgotten = wasForgotten
        }
    }

    package init() {}
}

/// The result of a verified event. It depends on the order of arrival; the ledger does not.
package enum EventResult: String, Sendable {
    /// A register moved, or the event brought an effect.
    case applied
    /// Everything in it was already known, or older.
    case superseded
    /// There was nothing to merge.
    case noEffect = "no_effect"
    /// An earlier event has the same notificationUUID. The facts were merged nevertheless.
    case duplicate
    /// This version does not know its meaning; its facts were merged.
    case unhandled
}

/// Why a charge does not belong to the user who posted it. Its facts were merged nevertheless.
package enum OwnershipDoubt: String, Sendable {
    /// It belongs to another user.
    case conflict = "owner_conflict"
    /// It has no owner yet, and the post did not make the user its owner.
    case unknown = "owner_unknown"
}
