import AppStore
import FoundationEssentials
import Ledger

/// What an event is about: the keys under which the books are asked.
struct ExplainedSubject {
    let eventID: Int64
    let environment: String
    var transactionID: String?
    var contractID: String?
    var notificationUUID: String?
    var effects: [EffectKey] = []

    /// By what the event says now; else, when its body is gone or does not pass, by the labels of its outcome. Nil when neither says
    /// anything: nothing of it has ever been verified.
    init?(_ record: InboxRecord, facts: EventFacts?) {
        eventID = record.eventID
        if let facts {
            environment = facts.environment.rawValue
            transactionID = facts.transaction?.key.id
            contractID = facts.transaction?.originalTransactionID ?? facts.subscription?.key.id
            notificationUUID = facts.notificationUUID
            effects = facts.effects.map(\.key)
        } else {
            guard let labels = record.outcome ?? record.history.last, let environment = labels.word("environment") else { return nil }
            self.environment = environment
            transactionID = labels.word("transaction_id")
            contractID = labels.word("original_transaction_id")
            notificationUUID = labels.word("notification_uuid")
        }
    }
}
