import AppStore
import AppStoreVerification
import Ledger

extension RefundRequestFact {
    private static let kinds: [NotificationTypeV2: Kind] = [
        .consumptionRequest: .asked, .refund: .refunded, .refundDeclined: .declined, .refundReversed: .reversed,
    ]

    /// What the notification says about the refund of the charge; nil when it concerns something else.
    init?(_ verified: VerifiedNotification, key: NotificationKey?, transaction: TransactionFact?) {
        let notification = verified.notification.value
        guard let transaction, let key, let kind = notification.notificationType.flatMap({ Self.kinds[$0] }) else { return nil }
        self.init(
            kind,
            key: key,
            of: transaction,
            reason: kind == .asked ? notification.data?.consumptionRequestReason?.rawValue : nil,
            signedDate: verified.notification.signedDate,
            isAdvancedCommerce: verified.transaction?.value.isAdvancedCommerce ?? false
        )
    }
}
