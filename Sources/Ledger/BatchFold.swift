/// The facts of a batch of events, joined so that each row of the books is written once, and what is needed to tell afterwards what
/// became of each event.
package struct BatchFold: Sendable {
    /// In the order in which the events are to be taken.
    package let events: [EventFacts]
    package private(set) var transactions: [LedgerKey: TransactionRegister] = [:]
    package private(set) var subscriptions: [LedgerKey: SubscriptionFact] = [:]
    package private(set) var legacyRenewals: [LegacyRenewalFact.Key: LegacyRenewalFact] = [:]
    package private(set) var posts: [ClientPost.Key: ClientPost] = [:]
    package private(set) var refundStatements: [NotificationKey: RefundStatement] = [:]
    /// With the event that brought each first.
    package private(set) var effects: [EffectKey: (effect: Effect, eventID: Int64)] = [:]
    /// The event that brought each first.
    package private(set) var notifications: [NotificationKey: Int64] = [:]
    /// Events whose transaction, or renewal, was the newest of its key when their turn came.
    private var leadingTransactions: Set<Int64> = []
    private var leadingSubscriptions: Set<Int64> = []
    /// The same of events that tell of many, with what they led.
    private var leadingReceipts: [Int64: Set<LedgerKey>] = [:]
    private var leadingLegacyRenewals: [Int64: Set<LegacyRenewalFact.Key>] = [:]

    package init(_ events: [EventFacts]) {
        self.events = events
        for event in events {
            take(event)
        }
    }

    private mutating func take(_ event: EventFacts) {
        if let key = event.notificationKey, notifications[key] == nil { notifications[key] = event.eventID }
        if let fact = event.transaction {
            let known = transactions[fact.key]?.signed?.version
            if known.map({ $0 < fact.version }) ?? true { leadingTransactions.insert(event.eventID) }
            take(TransactionRegister(fact), of: fact.key)
        }
        for fact in event.receipts {
            let known = transactions[fact.key]?.receipt?.latest.version
            if known.map({ $0 < fact.version }) ?? true { leadingReceipts[event.eventID, default: []].insert(fact.key) }
            take(TransactionRegister(fact), of: fact.key)
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

    private mutating func take(_ register: TransactionRegister, of key: LedgerKey) {
        if transactions[key]?.join(register) == nil { transactions[key] = register }
    }

    /// What became of an event, once the books have answered.
    package func result(of event: EventFacts, after answer: MergeAnswer) -> EventResult {
        if let key = event.notificationKey, let first = answer.firstEvents[key], first != event.eventID { return .duplicate }
        if event.unhandledReason != nil { return .unhandled }
        if event.saysNothing { return .noEffect }
        if let statement = event.refundStatement, answer.movedRefundStatements.contains(statement.key) { return .applied }
        let movedTransaction = event.transaction.map { answer.movedTransactions.contains($0.key) } ?? false
        let movedSubscription = event.subscription.map { answer.movedSubscriptions.contains($0.key) } ?? false
        if movedTransaction, leadingTransactions.contains(event.eventID) { return .applied }
        if movedSubscription, leadingSubscriptions.contains(event.eventID) { return .applied }
        if !answer.movedReceipts.isDisjoint(with: leadingReceipts[event.eventID] ?? []) { return .applied }
        if !answer.movedLegacyRenewals.isDisjoint(with: leadingLegacyRenewals[event.eventID] ?? []) { return .applied }
        if event.posts.contains(where: { answer.posts[$0.key]?.firstEventID == event.eventID }) { return .applied }
        if event.effects.contains(where: { answer.effectEvents[$0.key] == event.eventID }) { return .applied }
        return .superseded
    }

    /// Why the transaction that an event's post names does not belong to its user; nil when it does, or when the event names none.
    package func ownershipDoubt(of event: EventFacts, after answer: MergeAnswer) -> OwnershipDoubt? {
        guard let key = event.namingPost?.key else { return nil }
        guard let owner = answer.posts[key]?.owner else { return .unknown }
        return key.isUser(owner) ? nil : .conflict
    }
}
