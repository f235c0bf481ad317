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
        var effects = [effect(.granted, purchase, at: purchaseDate)]
        guard let revokedAt else { return effects }
        // Receipts have whole seconds.
        let date = revokedAt.wholeSeconds.millisecondsSince1970
        effects.append(
            isFamilyShared
                ? effect(.revoked, "\(key.id)/\(date)", at: revokedAt)
                // The merge numbers the refunds of a purchase: Apple may move the date of one.
                : effect(.refunded, "\(purchase)/\(date)", at: revokedAt)
        )
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
