import AppStore
import Ledger

extension TransactionFact {
    /// The effects of the charge itself: a grant and, if it was refunded or revoked, that.
    var effects: [Effect] {
        let grant = EffectSubject.grant(
            transactionID: key.id,
            contract: originalTransactionID,
            lineItemID: isSubscription ? payload.webOrderLineItemId : nil
        )
        var effects = [effect(.granted, grant, at: purchaseDate)]
        if let revocationDate = payload.revocationDate {
            let subject = EffectSubject.revocation(transactionID: key.id, at: revocationDate)
            effects.append(effect(isFamilyShared ? .revoked : .refunded, subject, at: revocationDate))
        }
        return effects
    }

    private func effect(_ kind: EffectKind, _ subject: String, at occurredAt: Timestamp) -> Effect {
        Effect(
            key: EffectKey(environment: key.environment, kind: kind, subject: subject),
            occurredAt: occurredAt,
            originalTransactionID: originalTransactionID,
            transactionID: key.id,
            productID: productID
        )
    }
}
