import AppStore
import AppStoreVerification
import Handlers
import Inbox
import Ledger

extension OutcomeLabels {
    /// What a notification V1 says, though it be nobody's of ours.
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

    /// What is known of a refused receipt: something only when its signature was valid.
    init(_ rejection: ReceiptRejection) {
        self.init()
        environment = rejection.receipt?.environment?.rawValue.storable
        bundleID = rejection.receipt?.bundleID?.storable
    }

    init(_ answer: VerifyReceiptResponse) {
        self.init()
        environment = (answer.environment ?? answer.receipt?.receiptType?.environment)?.rawValue.storable
        bundleID = answer.receipt?.bundleID?.storable
    }

    /// The same with the charge and the contract that the facts are about, where it can only be one.
    func naming(_ facts: EventFacts) -> OutcomeLabels {
        var labels = self
        let receipts = facts.receiptsInside
        let charge = facts.namingPost?.key.transactionID ?? facts.refundStatement?.transactionID ?? Self.only(receipts.lazy.map(\.key.id))
        labels.transactionID = charge?.storable
        if labels.originalTransactionID == nil {
            let contract =
                receipts.first { $0.key.id == charge }?.originalTransactionID
                ?? Self.only(receipts.map(\.originalTransactionID) + facts.legacyRenewals.map(\.contract.id))
            labels.originalTransactionID = contract?.storable
        }
        return labels
    }

    /// What all of them are; nil when there are two or none.
    private static func only(_ ids: some Sequence<String>) -> String? {
        var only: String?
        for id in ids {
            if let known = only, known != id { return nil }
            only = id
        }
        return only
    }
}
