import AppStore
package import AppStoreVerification
import FoundationEssentials
package import Ledger

/// Turns a verified notification into facts and effects. Pure.
package enum NotificationInterpreter {
    package static func facts(of verified: VerifiedNotification, eventID: Int64) -> EventFacts {
        let notification = verified.notification.value
        let environment = verified.environment
        let uuid = notification.notificationUUID.map { UUID(notification: $0) }
        var facts = EventFacts(eventID: eventID, environment: environment, notificationUUID: uuid)
        let meaning = NotificationMeaning.of(notification.notificationType, notification.subtype)
        if meaning == nil { facts.unhandledReason = "unknown_notification" }
        if let signed = verified.transaction { facts.add(signed) }
        facts.subscription = subscription(of: verified)
        if meaning != nil {
            facts.refundStatement = RefundRequestFact(verified, key: facts.notificationKey, transaction: facts.transaction)
        }
        if let kind = meaning?.lifecycle(beside: notification.data?.status), let uuid {
            facts.effects.append(lifecycle(kind, uuid: uuid, of: verified, transaction: facts.transaction))
        }
        return facts
    }

    /// Renewal info and status; nil when the notification has neither.
    private static func subscription(of verified: VerifiedNotification) -> SubscriptionFact? {
        let status = verified.notification.value.data?.status
        guard verified.renewalInfo != nil || status != nil, let contract = verified.contract else { return nil }
        let dated = verified.renewalInfo.map { ($0.signedDate, $0.payloadHash) }
        let (signedDate, hash) = dated ?? (verified.notification.signedDate, verified.notification.payloadHash)
        return SubscriptionFact(
            key: LedgerKey(environment: verified.environment, id: contract),
            signedDate: signedDate,
            hash: hash,
            status: status,
            renewalInfo: verified.renewalInfo?.value
        )
    }

    /// What happened to the contract, beyond the charge: one effect for each notificationUUID.
    private static func lifecycle(
        _ kind: EffectKind,
        uuid: UUID,
        of verified: VerifiedNotification,
        transaction: TransactionFact?
    ) -> Effect {
        Effect(
            key: EffectKey(environment: verified.environment, kind: kind, notification: uuid),
            occurredAt: verified.notification.signedDate,
            originalTransactionID: verified.contract,
            transactionID: transaction?.key.id,
            productID: transaction?.productID ?? verified.renewalInfo?.value.productId,
            gracePeriodExpiresDate: kind == .gracePeriodStarted ? verified.renewalInfo?.value.gracePeriodExpiresDate : nil
        )
    }
}

extension NotificationInterpreter: EventInterpreter {
    static func facts(of reading: inout EventReading) throws(EventRefusal) -> EventFacts {
        let (event, verifier) = (reading.event, reading.reader.verifier)
        let jws = try reading.decoded { () throws(NotificationBody.Refusal) in try NotificationBody.signedPayload(in: event.body) }
        reading.jws = jws
        let notification = try reading.accepted(
            verifier.verifyNotification(jws, receivedAt: event.readAt, diagnostics: reading.diagnostics)
        )
        return facts(of: notification, eventID: event.id)
    }

    static func meaning(type: String?, subtype: String?) -> String? {
        guard let type else { return nil }
        let known = NotificationMeaning.of(NotificationTypeV2(rawValue: type), subtype.map(Subtype.init(rawValue:)))
        let summary = known?.summary ?? "not in the table of this version: what it says of charge and renewal is merged, nothing else"
        return "\(type)\(subtype.map { "/\($0)" } ?? ""): \(summary)"
    }
}

extension VerifiedNotification {
    /// The originalTransactionId, on which transaction and renewal info agree.
    package var contract: String? {
        transaction?.value.originalTransactionId ?? renewalInfo?.value.originalTransactionId
    }
}

extension EventFacts {
    /// Adds a verified transaction and its effects, or the member that it lacks.
    mutating func add(_ signed: SignedValue<JWSTransactionDecodedPayload>) {
        do {
            let version = Version(signedDate: signed.signedDate, hash: signed.payloadHash)
            let fact = try TransactionFact(signed.value, environment: environment, version: version)
            transaction = fact
            effects += fact.effects
        } catch {
            unhandledReason = "incomplete_transaction:\(error.missing)"
        }
    }
}
