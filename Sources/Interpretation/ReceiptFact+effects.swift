import AppStore
import Ledger

extension ReceiptFact {
    /// The effects of the charge itself: a grant and, if it was refunded or revoked, that.
    ///
    /// - Parameter isFamilyShared: whether the user had the purchase through another family member.
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
