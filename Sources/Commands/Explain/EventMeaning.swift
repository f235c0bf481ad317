import AppStore
import InboxQueue
import Interpretation
import Ledger
import Worker

/// What an event's type and subtype mean for the books: a row of the handlers' table, or why there is none.
struct EventMeaning: Equatable {
    /// Nil for a client's transaction, which has none.
    let type: String?
    let subtype: String?
    let isKnown: Bool
    /// What happened to the customer beyond what the charge itself says.
    let effect: String?
    let summary: String
}

/// What would become of an event that ran now, as far as that is known without the books.
struct NextRun: Equatable {
    /// `merge`, `retry`, or a result of `outcomes`.
    let result: String
    let reason: String?

    init(_ prepared: EventProcessor.Prepared) {
        switch prepared {
        case .facts(let facts, _):
            result = "merge"
            reason = facts.unhandledReason
        case .settled(.outcome(let outcome)), .unusableAnswer(_, let outcome):
            result = outcome.result.rawValue
            reason = outcome.reason
        case .settled(.retry(let reason, _, _)):
            result = "retry"
            self.reason = reason
        }
    }
}

extension EventMeaning {
    /// Of a notification, by its payload or by the labels of its outcome.
    init(type: String?, subtype: String?) {
        let meaning = NotificationMeaning.of(type.map(NotificationTypeV2.init(rawValue:)), subtype.map(Subtype.init(rawValue:)))
        self.init(
            type: type,
            subtype: subtype,
            isKnown: meaning != nil,
            effect: meaning?.lifecycle?.rawValue,
            summary: meaning?.summary ?? "not in the table of this version: what it says of charge and renewal is merged, nothing else"
        )
    }

    /// Of a notification V1, by its body or by the labels of its outcome.
    init(legacyType type: String?, facts: EventFacts?) {
        let meaning = NotificationV1Meaning.of(type.map(NotificationTypeV1.init(rawValue:)))
        let told = (facts?.effects ?? []).map(\.key.kind).first { meaning?.lifecycle.contains($0) ?? false }
        self.init(
            type: type,
            subtype: nil,
            isKnown: meaning != nil,
            effect: told?.rawValue,
            summary: meaning?.summary ?? "not in the table of this version: what it says of charges and renewals is merged, nothing else"
        )
    }

    /// Of a receipt that a client posted.
    static let clientReceipt = EventMeaning(
        type: nil,
        subtype: nil,
        isKnown: true,
        effect: nil,
        summary: "a receipt as the client has it: a fact of each purchase in it, and perhaps a question to Apple"
    )

    /// Of what Apple answers about a receipt.
    static let receiptAnswer = EventMeaning(
        type: nil,
        subtype: nil,
        isKnown: true,
        effect: nil,
        summary: "Apple's answer about a receipt: purchases and renewals as they were when it was asked"
    )

    /// Of a posted receipt about which Apple was asked in vain.
    static let unansweredReceipt = EventMeaning(
        type: nil,
        subtype: nil,
        isKnown: true,
        effect: nil,
        summary: "a posted receipt that Apple has not answered for: its purchases as of when Apple made it"
    )

    /// Of a transaction that a client posted.
    static let clientTransaction = EventMeaning(
        type: nil,
        subtype: nil,
        isKnown: true,
        effect: nil,
        summary: "a purchase as the client got it: the same facts that a notification with it would bring"
    )
}

extension Explanation {
    /// Nil when nothing says what the event is.
    var meaning: EventMeaning? {
        switch record.source {
        case EventSource.clientTransaction.rawValue: return .clientTransaction
        case EventSource.clientReceipt.rawValue: return .clientReceipt
        case EventSource.verifyReceipt.rawValue: return .receiptAnswer
        case EventSource.unansweredReceipt.rawValue: return .unansweredReceipt
        case EventSource.notificationV1.rawValue:
            let labels = record.outcome ?? record.history.last
            let type = reading?.document.map { $0.word("notification_type") } ?? labels?.word("notification_type")
            return EventMeaning(legacyType: type, facts: reading?.facts)
        default: break
        }
        let outer = reading?.parts.first.flatMap { $0.kind == .notification ? $0.payload : nil }
        if let outer { return EventMeaning(type: outer.word("notificationType"), subtype: outer.word("subtype")) }
        guard let labels = record.outcome ?? record.history.last, let type = labels.word("notification_type") else { return nil }
        return EventMeaning(type: type, subtype: labels.word("subtype"))
    }
}
