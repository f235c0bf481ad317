import AppStore
import AppStoreVerification
import Ledger

extension NotificationV1Interpreter: EventInterpreter {
    static func facts(of reading: inout EventReading) throws(EventRefusal) -> EventFacts {
        let (event, reader) = (reading.event, reading.reader)
        let (json, body) = try reading.decodedDocument { json throws(MalformedPayload) in try ResponseBodyV1(json) }
        let receipt = enclosedReceipt(in: body, &reading)
        reading.labels = EventLabels(body)
        let notification = try reading.decoded { () throws(AuthenticNotificationV1.Refusal) in
            try AuthenticNotificationV1(
                body,
                receipt: receipt,
                digest: ContentDigest.ofNotificationV1(json),
                // Not the time of this attempt: the facts must not depend on when the event is processed.
                receivedAt: event.receivedAt,
                policy: reader.receipts.policy
            )
        }
        reading.labels = EventLabels(notification)
        switch receipt {
        case .refused(let rejection) where rejection.isRetryable: throw EventRefusal(rejection)
        case .verified(let receipt): try reading.refuseNUL(in: receipt)
        case .refused, .absent: break
        }
        let facts = facts(of: notification, eventID: event.id, settings: reader.legacy)
        reading.labels.name(facts)
        return facts
    }

    private static func enclosedReceipt(in body: ResponseBodyV1, _ reading: inout EventReading) -> EnclosedReceipt {
        guard let data = body.receiptData else { return .absent }
        return switch reading.verify(receipt: data) {
        case .valid(let receipt): .verified(receipt)
        case .invalid(let rejection): .refused(rejection)
        }
    }

    static func meaning(type: String?, subtype: String?) -> String? {
        guard let type else { return nil }
        let known = NotificationV1Meaning.of(NotificationTypeV1(rawValue: type))
        let summary = known?.summary ?? "not in the table of this version: what it says of charges and renewals is merged, nothing else"
        return "\(type): \(summary)"
    }
}
