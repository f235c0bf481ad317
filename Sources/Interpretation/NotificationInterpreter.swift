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
        // Without its subtype, a notification may mean something else.
        let isNamed = notification.odd.first(at: ["notificationType", "subtype"]) == nil
        let meaning = isNamed ? NotificationMeaning.of(notification.notificationType, notification.subtype) : nil
        if meaning == nil { facts.unhandledReason = "unknown_notification" }
        if let signed = verified.transaction { facts.add(signed) }
        if let member = verified.unreadable { facts.unhandledReason = EventRefusal.unreadableReason(member) }
        facts.subscription = subscription(of: verified)
        facts.externalPurchaseToken = ExternalPurchaseTokenFact(verified)
        if let signed = verified.appTransaction { facts.add(signed, bundleID: verified.bundleID) }
        if meaning != nil {
            facts.refundStatement = RefundRequestFact(verified, key: facts.notificationKey, transaction: facts.transaction)
        }
        if let kind = meaning?.lifecycle(beside: notification.data?.status), let uuid {
            // An effect is written once: one without its contract or its details would never get them.
            if let member = verified.unreadableDetail(of: kind) {
                facts.unhandledReason = EventRefusal.unreadableReason(member)
            } else if verified.contract != nil || verified.unreadable == nil {
                facts.effects.append(lifecycle(kind, uuid: uuid, of: verified, transaction: facts.transaction))
            }
        }
        return facts
    }

    /// Renewal info and status; nil when the notification has neither.
    private static func subscription(of verified: VerifiedNotification) -> SubscriptionFact? {
        let status = verified.notification.value.data?.status
        guard verified.renewalInfo != nil || status != nil, let contract = verified.contract else { return nil }
        let dated = verified.renewalInfo.map { ($0.signedDate, $0.payloadHash) }
        let (signedDate, hash) = dated ?? (verified.notification.signedDate, verified.notification.payloadHash)
        let isComplete = verified.renewalInfo?.odd.isEmpty ?? true && verified.notification.value.odd.first(at: ["data.status"]) == nil
        return SubscriptionFact(
            key: LedgerKey(environment: verified.environment, id: contract),
            signedDate: signedDate,
            hash: isComplete ? hash : Version.hashBelow(hash),
            status: status,
            renewalInfo: verified.renewalInfo?.value
        )
    }

    /// What happened beyond the charge: one effect for each notificationUUID.
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
            productID: transaction?.productID ?? verified.renewalInfo?.value.productId ?? verified.notification.value.summary?.productId,
            gracePeriodExpiresDate: kind == .gracePeriodStarted ? verified.renewalInfo?.value.gracePeriodExpiresDate : nil,
            bundleID: transaction?.payload.bundleId == nil ? verified.bundleID : nil,
            details: verified.details(of: kind)
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
    /// Members that the ledger needs, unless they are absent.
    private static let needed: Set<String> = [
        "notificationType", "subtype", "notificationUUID", "data", "data.signedTransactionInfo", "data.signedRenewalInfo", "data.status",
        "appData", "appData.signedAppTransactionInfo",
    ]

    /// The first member that is needed and cannot be read; parts without it are left out.
    var unreadable: String? { unreadableParts.first ?? notification.value.odd.first(at: Self.needed) }

    /// The originalTransactionId, on which transaction and renewal info agree.
    package var contract: String? {
        transaction?.value.originalTransactionId ?? renewalInfo?.value.originalTransactionId
    }
}

extension EventFacts {
    /// Adds a verified transaction and its effects, or the member that it lacks.
    mutating func add(_ signed: SignedValue<JWSTransactionDecodedPayload>) {
        if let member = signed.unreadable {
            unhandledReason = EventRefusal.unreadableReason(member)
            if signed.isUnusable { return }
        }
        do {
            let hash = signed.odd.isEmpty ? signed.payloadHash : Version.hashBelow(signed.payloadHash)
            let version = Version(signedDate: signed.signedDate, hash: hash)
            let fact = try TransactionFact(signed.value, environment: environment, version: version)
            transaction = fact
            effects += fact.effects
        } catch {
            unhandledReason = "incomplete_transaction:\(error.missing)"
        }
    }
}

extension SignedValue<JWSTransactionDecodedPayload> {
    /// Members without which it would be another purchase, a paid one, or one that was never refunded.
    private static let decisive = Set(
        [
            JWSTransactionDecodedPayload.Member.transactionId, .originalTransactionId, .webOrderLineItemId, .bundleId, .productId,
            .purchaseDate, .revocationDate, .revocationPercentage, .inAppOwnershipType,
        ].map { "transaction.\($0.rawValue)" }
    )

    /// Whether a member that decides what it is was given and cannot be read.
    fileprivate var isUnusable: Bool { odd.contains(where: Self.decisive.contains) }

    /// The member of it that the ledger needs, was given, and cannot be read.
    fileprivate var unreadable: String? {
        odd.first(where: Self.decisive.contains) ?? odd.first { $0 == "transaction.expiresDate" }
    }
}
