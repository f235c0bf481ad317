import AppStore
import FoundationEssentials
import InboxQueue
import Ledger

/// What an event is about: the keys under which the books are asked.
struct ExplainedSubject {
    let eventID: Int64
    let environment: String
    var transactionID: String?
    var contractID: String?
    var notificationUUID: UUID?
    var effects: [EffectKey] = []
    /// The charges that receipts in it tell of.
    var receiptCharges: [String] = []
    /// The contracts that a notification V1, or Apple's answer, tells the renewal of.
    var legacyContracts: [String] = []

    /// By what the event says now; else, when its body is gone or does not pass, by the labels of its outcome. Nil when neither says
    /// anything: nothing of it has ever been verified.
    init?(_ record: InboxRecord, _ reading: EventReading?) {
        eventID = record.eventID
        if let facts = reading?.facts {
            environment = facts.environment.rawValue
            transactionID = facts.transaction?.key.id ?? reading?.labels?.transactionID
            contractID = facts.transaction?.originalTransactionID ?? facts.subscription?.key.id ?? reading?.labels?.originalTransactionID
            notificationUUID = facts.notificationUUID
            effects = facts.effects.map(\.key)
            receiptCharges = Set(facts.receipts.map(\.key.id)).sorted()
            legacyContracts = Set(facts.legacyRenewals.map(\.contract.id)).sorted()
        } else {
            guard let labels = record.outcome ?? record.history.last, let environment = labels.word("environment") else { return nil }
            self.environment = environment
            transactionID = labels.word("transaction_id")
            contractID = labels.word("original_transaction_id")
            notificationUUID = labels.word("notification_uuid").flatMap { UUID(uuidString: $0) }
        }
    }
}
