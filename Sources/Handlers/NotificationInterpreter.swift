import AppStore
package import AppStoreVerification
package import Ledger

/// Turns a verified notification into facts and effects. Pure: the same notification always says the same.
package enum NotificationInterpreter {
    package static func facts(of verified: VerifiedNotification, eventID: Int64) -> EventFacts {
        let notification = verified.notification.value
        let environment = verified.environment
        var facts = EventFacts(eventID: eventID, environment: environment, notificationUUID: notification.notificationUUID)
        let meaning = NotificationMeaning.of(notification.notificationType, notification.subtype)
        if meaning == nil { facts.unhandledReason = "unknown_notification" }

        do throws(IncompleteFact) {
            facts.transaction = try verified.transaction.map { signed throws(IncompleteFact) in
                try TransactionFact(
                    signed.value,
                    environment: environment,
                    version: Version(signedDate: signed.signedDate, hash: signed.payloadHash)
                )
            }
        } catch {
            facts.unhandledReason = "incomplete_transaction:\(error.missing)"
        }
        facts.subscription = subscription(of: verified)
        if let fact = facts.transaction { facts.effects = money(of: fact) }
        if let kind = meaning?.lifecycle, let uuid = notification.notificationUUID {
            facts.effects.append(lifecycle(kind, uuid: uuid, of: verified, transaction: facts.transaction))
        }
        return facts
    }

    /// Renewal info and status, when there is either.
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

    /// What a charge itself says: it was given, and it may have been taken back.
    private static func money(of fact: TransactionFact) -> [Effect] {
        func effect(_ kind: EffectKind, _ subject: String, at occurredAt: Timestamp) -> Effect {
            Effect(
                key: EffectKey(environment: fact.key.environment, kind: kind, subject: subject),
                occurredAt: occurredAt,
                originalTransactionID: fact.originalTransactionID,
                transactionID: fact.key.id,
                productID: fact.productID
            )
        }
        let given =
            if fact.isSubscription, let lineItem = fact.payload.webOrderLineItemId {
                "\(fact.originalTransactionID)/\(lineItem)"
            } else {
                fact.key.id
            }
        var effects = [effect(.granted, given, at: fact.purchaseDate)]
        if let revocationDate = fact.payload.revocationDate {
            let subject = "\(fact.key.id)/\(revocationDate.millisecondsSince1970)"
            effects.append(effect(fact.isFamilyShared ? .revoked : .refunded, subject, at: revocationDate))
        }
        return effects
    }

    /// What a notification says of a contract's life: once for each notificationUUID.
    private static func lifecycle(
        _ kind: EffectKind,
        uuid: String,
        of verified: VerifiedNotification,
        transaction: TransactionFact?
    ) -> Effect {
        Effect(
            key: EffectKey(environment: verified.environment, kind: kind, subject: uuid),
            occurredAt: verified.notification.signedDate,
            originalTransactionID: verified.contract,
            transactionID: transaction?.key.id,
            productID: transaction?.productID ?? verified.renewalInfo?.value.productId
        )
    }
}

extension VerifiedNotification {
    /// The originalTransactionId that its parts agree on.
    package var contract: String? {
        transaction?.value.originalTransactionId ?? renewalInfo?.value.originalTransactionId
    }
}
