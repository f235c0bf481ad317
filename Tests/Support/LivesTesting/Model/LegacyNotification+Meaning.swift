import AppStore
import FoundationEssentials
import Ledger
import StoreSimulator

/// The effects of a notification V1 other than charges and renewal state.
extension LegacyNotification {
    /// A UUID derived from the content, since notifications V1 have none.
    var name: String { UUID(notification: "v1:\(digest.hexadecimal)").text }

    /// Nil when the notification has no date, or when its secret does not cover the contract.
    var lifecycle: String? {
        guard isAccepted, statedAt != nil, lifecycleContract.map(covers) ?? true else { return nil }
        return switch type.rawValue {
        case "DID_CHANGE_RENEWAL_STATUS": renewal.map { $0.autoRenews ? "will_renew" : "will_not_renew" }
        case "DID_FAIL_TO_RENEW": renewal?.gracePeriodExpiresDate == nil ? "billing_retry_started" : "grace_period_started"
        case "DID_CHANGE_RENEWAL_PREF": "plan_changed"
        case "PRICE_INCREASE_CONSENT": consent
        case "CONSUMPTION_REQUEST": "consumption_asked"
        default: nil
        }
    }

    /// The contract of the effect; nil when the notification names none.
    private var lifecycleContract: String? {
        let described = layout.contains(.renewalOutside) ? contractOutside : renewal?.originalTransactionID
        return refundRequest?.contract ?? namedID ?? described
    }

    private var consent: String {
        renewal?.priceIncreaseStatus?.rawValue == 1 ? "consent_given" : "consent_asked"
    }

    var refundRequest: ReferenceModel.RefundRequestFact? {
        switch type.rawValue {
        case "CONSUMPTION_REQUEST": chargeAskedAbout.map { makeRefundRequest("asked", of: $0) }
        case "REFUND": chargeRefunded.map { makeRefundRequest("refunded", of: $0) }
        default: nil
        }
    }

    /// The charge that the body names, else the only one of its entries that the receipt contains.
    private var chargeAskedAbout: ReceiptEntry? {
        if let named = receipt.entries.first(where: { $0.id == namedID }) { return named }
        let known = receipt.entries.filter { entry in entries.contains { $0.id == entry.id } }
        return known.count == 1 ? known[0] : nil
    }

    /// The charge in the body that was revoked last and is no upgrade.
    private var chargeRefunded: ReceiptEntry? {
        let revoked = Set(receiptAssertions.filter { $0.number("revocationDate") != nil }.compactMap { $0.text("transactionId") })
        let listed = Set(entries.filter { $0.cancellationDate != nil }.map(\.id))
        return receipt.entries.filter { revoked.contains($0.id) && (listed.isEmpty || listed.contains($0.id)) }.max { left, right in
            let dates = (left.cancellationDate, right.cancellationDate)
            if let first = dates.0, let second = dates.1, first != second { return first < second }
            return left.id.isLowerNumber(than: right.id)
        }
    }

    private func makeRefundRequest(_ kind: String, of entry: ReceiptEntry) -> ReferenceModel.RefundRequestFact {
        ReferenceModel.RefundRequestFact(
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
