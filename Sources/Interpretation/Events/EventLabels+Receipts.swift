import AppStore
import AppStoreVerification
import Ledger

extension EventLabels {
    /// The labels of a notification V1, also for apps that are not configured.
    init(_ body: ResponseBodyV1) {
        self.init()
        notificationType = body.notificationType?.rawValue.storable
        environment = body.environment?.rawValue.storable
        bundleID = body.bundleID?.storable
        originalTransactionID = body.originalTransactionID?.storable
    }

    init(_ notification: AuthenticNotificationV1) {
        self.init(notification.body)
        notificationUUID = notification.uuid
        environment = notification.environment.rawValue.storable
        bundleID = notification.bundleID.storable
    }

    init(_ receipt: VerifiedReceipt) {
        self.init()
        environment = receipt.environment.rawValue.storable
        bundleID = receipt.bundleID.storable
    }

    init(_ answer: VerifyReceiptResponse) {
        self.init()
        environment = (answer.environment ?? answer.receipt?.receiptType?.environment)?.rawValue.storable
        bundleID = answer.receipt?.bundleID?.storable
    }

    /// Adds the charge and the contract of the facts, where there is only one.
    mutating func name(_ facts: EventFacts) {
        let receipts = facts.allReceipts
        let charge = facts.namingPost?.key.transactionID ?? facts.refundStatement?.transactionID ?? Self.only(receipts.lazy.map(\.key.id))
        transactionID = charge?.storable
        if originalTransactionID == nil {
            let contract =
                receipts.first { $0.key.id == charge }?.originalTransactionID
                ?? Self.only(receipts.map(\.originalTransactionID) + facts.legacyRenewals.map(\.contract.id))
            originalTransactionID = contract?.storable
        }
    }

    /// The only distinct value; nil when there are two or none.
    private static func only(_ ids: some Sequence<String>) -> String? {
        var only: String?
        for id in ids {
            if let known = only, known != id { return nil }
            only = id
        }
        return only
    }
}
