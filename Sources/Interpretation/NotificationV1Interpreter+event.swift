import AppStore
import AppStoreVerification
import Ledger

extension NotificationV1Interpreter: EventInterpreter {
    static func facts(of reading: inout EventReading) throws(EventRefusal) -> EventFacts {
        let (event, reader) = (reading.event, reading.reader)
        let (json, body) = try reading.decodedDocument(as: ResponseBodyV1.self)
        let receipt = enclosedReceipt(in: body, &reading)
        reading.labels = EventLabels(body)
        let notification: AuthenticNotificationV1
        do throws(AuthenticNotificationV1.Refusal) {
            notification = try AuthenticNotificationV1(
                body,
                receipt: receipt,
                digest: ContentDigest.ofNotificationV1(json),
                // Not the time of this attempt: the facts must not depend on when the event is processed.
                receivedAt: event.receivedAt,
                policy: reader.receipts.policy
            )
        } catch {
            let isMissing = error == .environmentMissing || error == .bundleMissing
            throw (isMissing ? body.odd.first(named: naming) : nil).map(EventRefusal.unreadable) ?? EventRefusal(error.rawValue)
        }
        // What decides to whom it belongs never counts as absent.
        if let member = body.odd.first(named: deciding) { throw .unreadable(member) }
        reading.labels = EventLabels(notification)
        switch receipt {
        case .refused(let rejection) where rejection.isRetryable: throw EventRefusal(rejection)
        case .verified(let receipt): try reading.refuseNUL(in: receipt)
        case .refused, .absent: break
        }
        var facts = facts(of: notification, eventID: event.id, settings: reader.legacy)
        if let member = body.odd.first(named: needed) { facts.unhandledReason = EventRefusal.unreadableReason(member) }
        reading.labels.name(facts)
        return facts
    }

    /// Members that name environment and app.
    private static let deciding = Set([ResponseBodyV1.Member.environment, .bundleID].map(\.rawValue))

    /// The same, and what may contain them.
    private static let naming = deciding.union(
        [
            ResponseBodyV1.Member.unifiedReceipt, .latestReceipt, .latestReceiptInfo, .latestExpiredReceipt, .latestExpiredReceiptInfo,
        ].map(\.rawValue)
    )

    /// Members that say what happened, and to which contract.
    private static let needed = Set(
        [
            ResponseBodyV1.Member.notificationType, .originalTransactionID, .unifiedReceipt, .latestReceipt, .latestExpiredReceipt,
        ].map(\.rawValue) + [UnifiedReceipt.Member.pendingRenewalInfo.rawValue]
    )

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
