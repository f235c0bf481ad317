import AppStore
import Ledger

extension ReceiptFact {
    /// What the charge itself says, whatever brought it: it was given, and it may have been taken back.
    ///
    /// - Parameter isFamilyShared: whether who lost it had it through somebody else's purchase.
    func effects(isFamilyShared: Bool) -> [Effect] {
        let grant = EffectSubject.grant(
            transactionID: key.id,
            contract: originalTransactionID,
            lineItemID: isSubscription ? content.webOrderLineItemID : nil
        )
        var effects = [effect(.granted, grant, at: purchaseDate)]
        if let date = content.revocationDate {
            let subject = EffectSubject.revocation(transactionID: key.id, at: date)
            effects.append(effect(isFamilyShared ? .revoked : .refunded, subject, at: date))
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
