import AppStore
import Ledger

extension ReceiptFact {
    /// - Parameter isFamilyShared: whether the user had the purchase through another family member.
    func effects(isFamilyShared: Bool) -> [Effect] { effectsOfCharge(revokedAt: content.revocationDate, isFamilyShared) }
}

extension TransactionFact {
    var effects: [Effect] { effectsOfCharge(revokedAt: payload.revocationDate, isFamilyShared) }
}

extension Charge {
    /// The effects of the charge itself: a grant and, if it was refunded or revoked, that.
    fileprivate func effectsOfCharge(revokedAt: Timestamp?, _ isFamilyShared: Bool) -> [Effect] {
        let grant = EffectSubject.grant(transactionID: key.id, contract: originalTransactionID, lineItemID: lineItemID)
        var effects = [effect(.granted, grant, at: purchaseDate)]
        if let revokedAt {
            let subject = EffectSubject.revocation(transactionID: key.id, at: revokedAt)
            effects.append(effect(isFamilyShared ? .revoked : .refunded, subject, at: revokedAt))
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
