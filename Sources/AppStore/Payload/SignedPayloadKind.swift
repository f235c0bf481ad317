package import StrictJSON

/// The kind of a signed payload, recognised by its members.
///
/// The signature does not distinguish kinds: the same certificate signs all of them. Each kind has members of its own. A payload with such
/// members of two kinds, or without the required ones of its kind, has no kind.
package enum SignedPayloadKind: String, CaseIterable, Sendable {
    case notification
    case transaction
    case renewalInfo = "renewal-info"
    case appTransaction = "app-transaction"

    /// The kind of a payload, `nil` when the members do not determine one; `null` counts as absent.
    package static func of(_ object: JSONObject) -> SignedPayloadKind? {
        func has(_ name: String) -> Bool { object[name].map { $0 != .null } ?? false }
        let isNotification = has("notificationType") || has("notificationUUID")
        let isTransaction = has("transactionId")
        let isRenewalInfo = has("autoRenewStatus") || has("autoRenewProductId")
        let isAppTransaction = has("receiptType") || has("originalApplicationVersion")
        switch (isNotification, isTransaction, isRenewalInfo, isAppTransaction) {
        case (true, false, false, false): return has("notificationType") && has("notificationUUID") ? .notification : nil
        case (false, true, false, false): return has("originalTransactionId") ? .transaction : nil
        case (false, false, true, false): return has("originalTransactionId") ? .renewalInfo : nil
        case (false, false, false, true): return has("receiptType") && !has("originalTransactionId") ? .appTransaction : nil
        default: return nil
        }
    }
}
