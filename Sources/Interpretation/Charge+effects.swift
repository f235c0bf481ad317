import AppStore
import Ledger

extension ReceiptFact {
    /// - Parameter isPurchased: whether the customer paid for it.
    func effects(isPurchased: Bool) -> [Effect] { effectsOfCharge(revokedAt: content.revocationDate, isRefund: isPurchased) }
}

extension TransactionFact {
    var effects: [Effect] { effectsOfCharge(revokedAt: payload.revocationDate, isRefund: isRefund) + effectOfSeats }

    /// The refund of some seats of a group. Apple gives it no date, and says how many seats were refunded until now: each number is one effect.
    private var effectOfSeats: [Effect] {
        guard isPurchased, payload.revocationDate == nil, let seats = payload.multiSeatInfo?.revokedSeatQuantity, seats > 0 else {
            return []
        }
        return [effect(.seatsRefunded, "\(key.id)/\(seats)", at: version.signedDate)]
    }
}

extension Charge {
    /// The effects of the charge itself: a grant and, if it was refunded or revoked, that.
    fileprivate func effectsOfCharge(revokedAt: Timestamp?, isRefund: Bool) -> [Effect] {
        var effects = [effect(.granted, purchase, at: purchaseDate)]
        guard let revokedAt else { return effects }
        // Receipts have whole seconds.
        let date = revokedAt.wholeSeconds.millisecondsSince1970
        effects.append(
            isRefund
                // The merge numbers the refunds of a purchase: Apple may move the date of one.
                ? effect(.refunded, "\(purchase)/\(date)", at: revokedAt)
                : effect(.revoked, "\(key.id)/\(date)", at: revokedAt)
        )
        return effects
    }

    fileprivate func effect(_ kind: EffectKind, _ subject: String, at occurredAt: Timestamp) -> Effect {
        Effect(
            key: EffectKey(environment: key.environment, kind: kind, subject: subject),
            occurredAt: occurredAt,
            originalTransactionID: originalTransactionID,
            transactionID: key.id,
            productID: productID
        )
    }
}

extension Timestamp {
    /// This instant without its milliseconds, as in receipts.
    var wholeSeconds: Timestamp { Timestamp(millisecondsSince1970: millisecondsSince1970 / 1000 * 1000) }
}
