import AppStore
import FoundationEssentials
import Ledger
import StoreSimulator

/// What a notification V1 says of the customer, beside charges and renewal.
extension LegacyNotification {
    /// It has no UUID: what it says is its name.
    var name: String { UUID(notification: "v1:\(digest.hexadecimal)").text }

    /// Nothing of what cannot be dated, nor of a contract that it may not speak of.
    var lifecycle: String? {
        guard isTaken, statedAt != nil, lifecycleContract.map(maySpeak) ?? true else { return nil }
        return switch type.rawValue {
        case "DID_CHANGE_RENEWAL_STATUS": renewal.map { $0.autoRenews ? "will_renew" : "will_not_renew" }
        case "DID_FAIL_TO_RENEW": renewal?.gracePeriodExpiresDate == nil ? "billing_retry_started" : "grace_period_started"
        case "DID_CHANGE_RENEWAL_PREF": "plan_changed"
        case "PRICE_INCREASE_CONSENT": consent
        case "CONSUMPTION_REQUEST": "consumption_asked"
        default: nil
        }
    }

    /// What it is about: nil of what names no contract at all.
    private var lifecycleContract: String? {
        let told = layout.contains(.renewalOutside) ? contractOutside : renewal?.originalTransactionID
        return refundStatement?.contract ?? namedID ?? told
    }

    private var consent: String {
        renewal?.priceIncreaseStatus?.rawValue == 1 ? "consent_given" : "consent_asked"
    }

    var refundStatement: ReferenceModel.RefundStatement? {
        switch type.rawValue {
        case "CONSUMPTION_REQUEST": chargeAskedAbout.map { statement("asked", of: $0) }
        case "REFUND": chargeRefunded.map { statement("refunded", of: $0) }
        default: nil
        }
    }

    /// What the body names, else the only one of its entries that the receipt has too.
    private var chargeAskedAbout: ReceiptEntry? {
        if let named = receipt.entries.first(where: { $0.id == namedID }) { return named }
        let known = receipt.entries.filter { entry in entries.contains { $0.id == entry.id } }
        return known.count == 1 ? known[0] : nil
    }

    /// The one taken back last that no other plan replaced, of those that the body tells of.
    private var chargeRefunded: ReceiptEntry? {
        let revoked = Set(receiptAssertions.filter { $0.number("revocationDate") != nil }.compactMap { $0.text("transactionId") })
        let told = Set(entries.filter { $0.cancellationDate != nil }.map(\.id))
        return receipt.entries.filter { revoked.contains($0.id) && (told.isEmpty || told.contains($0.id)) }.max { left, right in
            let dates = (left.cancellationDate, right.cancellationDate)
            if let first = dates.0, let second = dates.1, first != second { return first < second }
            return left.id.isLowerNumber(than: right.id)
        }
    }

    private func statement(_ kind: String, of entry: ReceiptEntry) -> ReferenceModel.RefundStatement {
        ReferenceModel.RefundStatement(
            environment: app.environment.rawValue,
            uuid: name,
            kind: kind,
            charge: entry.id,
            contract: entry.contract,
            reason: nil,
            signed: receipt.madeAt.millisecondsSince1970
        )
    }
}
