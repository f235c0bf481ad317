import AppStore
import Ledger

extension TransactionFact {
    /// What the charge itself says, whatever brought it: it was given, and it may have been taken back.
    var effects: [Effect] {
        let given =
            if isSubscription, let lineItem = payload.webOrderLineItemId { "\(originalTransactionID)/\(lineItem)" } else { key.id }
        var effects = [effect(.granted, given, at: purchaseDate)]
        if let revocationDate = payload.revocationDate {
            let subject = "\(key.id)/\(revocationDate.millisecondsSince1970)"
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
