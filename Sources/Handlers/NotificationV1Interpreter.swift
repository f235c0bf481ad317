import AppStore
import AppStoreVerification
package import Ledger

/// Turns an authentic notification V1 into facts and effects. Pure: the same notification always says the same.
///
/// Charges, grants and refunds are the receipt's; the renewal, which receipts do not hold, and what happened to it, are the body's. Where the
/// body names no app, the secret of another one may stand behind it: then it is believed of contracts in its receipt only.
package enum NotificationV1Interpreter {
    /// What is told of a body that names no app and speaks of contracts that are not in its receipt.
    package static let renewalNotInReceipt = "renewal_not_in_receipt"

    /// - Parameter settings: whether Apple is asked about a receipt that cannot be verified here.
    package static func facts(of notification: AuthenticNotificationV1, eventID: Int64, settings: LegacySettings) -> EventFacts {
        let body = notification.body
        var facts = EventFacts(eventID: eventID, environment: notification.environment, notificationUUID: notification.uuid)
        if let receipt = notification.receipt.verified {
            facts.take(receipt.reading(classifiedBy: body.vouchedBundleID == nil ? [] : body.transactions))
        }
        let renewals = renewals(of: notification, beside: facts.receipts)
        facts.legacyRenewals = renewals.filter { isVouchedFor($0.contract.id, notification, facts) }
        if facts.legacyRenewals.count < renewals.count { facts.remark = renewalNotInReceipt }
        if let problem = notification.receipt.problem { facts.unhandledReason = problem }
        if settings.asksApple(about: notification.bundleID), let call = OutboundCall.verifyReceipt(about: notification, eventID: eventID) {
            facts.calls = [call]
        }
        guard let meaning = NotificationV1Meaning.of(body.notificationType) else {
            facts.unhandledReason = "unknown_notification"
            return facts
        }
        facts.refundStatement = RefundStatement(notification, meaning.type, receipts: facts.receipts)
        if meaning.type == .refund, facts.refundStatement == nil, notification.receipt.verified != nil {
            facts.remark = "refund_not_in_receipt"
        }
        if let effect = lifecycle(of: notification, among: renewals, facts) { facts.effects.append(effect) }
        return facts
    }

    /// One for each entry of `pending_renewal_info`; without that, what the outer members say of the one contract that can be meant. None
    /// without a date: it would have no place among the others.
    private static func renewals(of notification: AuthenticNotificationV1, beside receipts: [ReceiptFact]) -> [LegacyRenewalFact] {
        let body = notification.body
        guard let statedAt = notification.statedAt else { return [] }
        var renewals = body.unifiedReceipt?.pendingRenewalInfo ?? []
        if renewals.isEmpty, let contract = contract(of: body, receipts) {
            renewals = PendingRenewalInfo(outerMembersOf: body, originalTransactionID: contract).map { [$0] } ?? []
        }
        return renewals.compactMap { renewal in
            renewal.originalTransactionID.map { contract in
                LegacyRenewalFact(
                    key: LegacyRenewalFact.Key(
                        contract: LedgerKey(environment: notification.environment, id: contract),
                        bundleID: notification.bundleID
                    ),
                    provenance: .notificationV1,
                    renewal: renewal,
                    statedAt: statedAt,
                    receiptDate: notification.receipt.verified?.creationDate
                )
            }
        }
    }

    /// Whether what the body says of a contract is believed: its app's secret stands behind it, or Apple's signature behind the contract.
    private static func isVouchedFor(_ contract: String, _ notification: AuthenticNotificationV1, _ facts: EventFacts) -> Bool {
        notification.body.vouchedBundleID != nil || facts.receipts.contains { $0.originalTransactionID == contract }
    }

    /// The one that the body names, else the only subscription in the receipt, else the only purchase that the body tells of.
    private static func contract(of body: ResponseBodyV1, _ receipts: [ReceiptFact]) -> String? {
        if let named = body.originalTransactionID { return named }
        let subscriptions = Set(receipts.lazy.filter(\.isSubscription).map(\.originalTransactionID))
        let candidates = subscriptions.isEmpty ? Set(body.originalTransactionIDs) : subscriptions
        return candidates.count == 1 ? candidates.first : nil
    }

    /// What the notification says of a contract's life: once, however often it is delivered.
    ///
    /// - Parameter renewals: all that it tells of, also those that are not believed.
    private static func lifecycle(
        of notification: AuthenticNotificationV1,
        among renewals: [LegacyRenewalFact],
        _ facts: EventFacts
    ) -> Effect? {
        let renewal = NotificationV1Renewal(of: notification.body, among: renewals)
        guard let kind = renewal.effect(of: notification.body.notificationType), let occurredAt = notification.statedAt else { return nil }
        let charge = facts.refundStatement.flatMap { statement in facts.receipts.first { $0.key.id == statement.transactionID } }
        let contract = charge?.originalTransactionID ?? renewal.contract
        guard notification.body.vouchedBundleID != nil || notification.receipt.verified != nil else { return nil }
        if let contract, !isVouchedFor(contract, notification, facts) { return nil }
        return Effect(
            key: EffectKey(environment: notification.environment, kind: kind, notification: notification.uuid),
            occurredAt: occurredAt,
            originalTransactionID: contract,
            transactionID: charge?.key.id,
            productID: charge?.productID ?? renewal.productID,
            vouchedBundleID: notification.bundleID
        )
    }
}

extension AuthenticNotificationV1 {
    /// The version of what the body says by itself: when renewal was last turned on or off or, since it knows the rest as of then, when the
    /// receipt in it was made, if that is later.
    var statedAt: Timestamp? { [changeDate, receipt.verified?.creationDate].compactMap(\.self).max() }
}

extension RefundStatement {
    /// What the notification says about paying a charge of its receipt back; nil when it is about something else, or not clear about which.
    init?(_ notification: AuthenticNotificationV1, _ type: NotificationTypeV1, receipts: [ReceiptFact]) {
        let found: (kind: Kind, charge: ReceiptFact?)? =
            switch type {
            case .consumptionRequest: (.asked, Self.asked(about: notification.body, among: receipts))
            case .refund: (.refunded, Self.latestRefund(told: notification.body, among: receipts))
            default: nil
            }
        guard let found, let charge = found.charge, let date = notification.receipt.verified?.creationDate else { return nil }
        self.init(
            found.kind,
            key: NotificationKey(environment: notification.environment, uuid: notification.uuid),
            of: charge,
            signedDate: date
        )
    }

    private static func asked(about body: ResponseBodyV1, among receipts: [ReceiptFact]) -> ReceiptFact? {
        if let named = receipts.first(where: { $0.key.id == body.originalTransactionID }) { return named }
        let told = Set(body.transactions.compactMap(\.transactionID))
        let candidates = receipts.filter { told.contains($0.key.id) }
        return candidates.count == 1 ? candidates.first : nil
    }

    /// Of the refunds that the body tells of; where it tells of none, of all in the receipt.
    private static func latestRefund(told body: ResponseBodyV1, among receipts: [ReceiptFact]) -> ReceiptFact? {
        let told = Set(body.transactions.lazy.filter { $0.cancellationDate != nil }.compactMap(\.transactionID))
        let refunds = receipts.filter { $0.content.revocationDate != nil && (told.isEmpty || told.contains($0.key.id)) }
        return refunds.max { $0.refundOrder < $1.refundOrder }
    }
}

extension ReceiptFact {
    /// By the date of the refund; of one second, by the transaction's number.
    fileprivate var refundOrder: (Int64, Int, String) {
        (content.revocationDate?.millisecondsSince1970 ?? 0, key.id.utf8.count, key.id)
    }
}
