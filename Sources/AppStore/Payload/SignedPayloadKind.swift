/// What a signed payload is.
///
/// One certificate of Apple's signs all kinds, so only the members can tell them apart. Each kind has members that no other one has; a
/// payload with such members of two kinds, or without all that its kind needs, is of no kind.
package enum SignedPayloadKind: String, CaseIterable, Sendable {
    case notification
    case transaction
    case renewalInfo = "renewal-info"
    case appTransaction = "app-transaction"

    /// The one kind that the object's members allow, `nil` when there is none; members that are `null` count as absent.
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
