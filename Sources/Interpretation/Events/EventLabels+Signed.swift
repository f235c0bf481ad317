import AppStore
import AppStoreVerification
import FoundationEssentials
import Ledger
import StrictJSON

extension EventLabels {
    init(_ verified: VerifiedNotification) {
        self.init(verified.notification.value)
        environment = verified.environment.rawValue.storable
        bundleID = verified.bundleID?.storable
        transactionID = verified.transaction?.value.transactionId?.storable
        originalTransactionID = verified.contract?.storable
    }

    /// The labels of the outer payload alone: for a refused notification with a valid signature.
    init(_ notification: ResponseBodyV2DecodedPayload) {
        self.init()
        let (data, summary, appData) = (notification.data, notification.summary, notification.appData)
        let (token, unclaimInfo) = (notification.externalPurchaseToken, notification.unclaimInfo)
        notificationType = notification.notificationType?.rawValue.storable
        subtype = notification.subtype?.rawValue.storable
        notificationUUID = notification.notificationUUID.map { UUID(notification: $0) }
        let environments = [data?.environment, summary?.environment, appData?.environment, token?.environment, unclaimInfo?.environment]
        environment = environments.lazy.compactMap(\.self).first?.rawValue.storable
        let bundleIDs = [data?.bundleId, summary?.bundleId, appData?.bundleId, token?.bundleId, unclaimInfo?.bundleId]
        bundleID = bundleIDs.lazy.compactMap(\.self).first?.storable
    }

    /// The labels of a transaction alone.
    init(_ transaction: JWSTransactionDecodedPayload) {
        self.init()
        environment = transaction.environment?.rawValue.storable
        bundleID = transaction.bundleId?.storable
        transactionID = transaction.transactionId?.storable
        originalTransactionID = transaction.originalTransactionId?.storable
    }

    init(_ renewalInfo: JWSRenewalInfoDecodedPayload) {
        self.init()
        environment = renewalInfo.environment?.rawValue.storable
        originalTransactionID = renewalInfo.originalTransactionId?.storable
    }

    init(_ app: AppTransaction) {
        self.init()
        environment = app.receiptType?.rawValue.storable
        bundleID = app.bundleId?.storable
    }

    /// The labels of a refused payload or receipt; empty unless its signature was valid.
    init(_ rejection: Rejection) {
        switch rejection.genuine {
        case .notification(let notification): self.init(notification)
        case .transaction(let transaction): self.init(transaction)
        case .renewalInfo(let renewalInfo): self.init(renewalInfo)
        case .appTransaction(let app): self.init(app)
        case .receipt(let receipt):
            self.init()
            environment = receipt.environment?.rawValue.storable
            bundleID = receipt.bundleID?.storable
        case .other, nil: self.init()
        }
    }
}

extension String {
    /// The text; nil when it contains U+0000, or is too long for an index, so that recording an outcome never fails. Apple's own texts are
    /// far below a hundred bytes.
    var storable: String? { hasNUL || utf8.count > 1000 ? nil : self }
}
