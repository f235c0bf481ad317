package import AppStore

/// What a verified event says, ready to be merged.
package struct EventFacts: Sendable {
    package let eventID: Int64
    package let environment: AppStoreEnvironment
    /// Nil where the source has none, such as a client's own transaction.
    package let notificationUUID: String?
    package var transaction: TransactionFact?
    package var subscription: SubscriptionFact?
    /// That somebody says the charge is his.
    package var submission: Submission?
    package var refundStatement: RefundStatement?
    package var effects: [Effect]
    /// Why nobody knows what the event means, although its facts are merged; nil when its meaning is known.
    package var unhandledReason: String?

    package init(
        eventID: Int64,
        environment: AppStoreEnvironment,
        notificationUUID: String?,
        transaction: TransactionFact? = nil,
        subscription: SubscriptionFact? = nil,
        submission: Submission? = nil,
        refundStatement: RefundStatement? = nil,
        effects: [Effect] = [],
        unhandledReason: String? = nil
    ) {
        self.eventID = eventID
        self.environment = environment
        self.notificationUUID = notificationUUID
        self.transaction = transaction
        self.subscription = subscription
        self.submission = submission
        self.refundStatement = refundStatement
        self.effects = effects
        self.unhandledReason = unhandledReason
    }

    /// The notification's identity within its environment.
    package var notificationKey: LedgerKey? {
        notificationUUID.map { LedgerKey(environment: environment, id: $0) }
    }
}
