import AppStore
import AppStoreVerification
import FoundationEssentials
import Handlers
import Inbox
import Ledger

extension OutcomeLabels {
    init(_ verified: VerifiedNotification) {
        self.init(verified.notification.value)
        environment = verified.environment.rawValue.storable
        bundleID = verified.bundleID?.storable
        transactionID = verified.transaction?.value.transactionId?.storable
        originalTransactionID = verified.contract?.storable
    }

    /// What the outer payload alone says: for a notification whose signature was valid and which was refused all the same.
    init(_ notification: ResponseBodyV2DecodedPayload) {
        self.init()
        let (data, summary, appData) = (notification.data, notification.summary, notification.appData)
        let token = notification.externalPurchaseToken
        notificationType = notification.notificationType?.rawValue.storable
        subtype = notification.subtype?.rawValue.storable
        notificationUUID = notification.notificationUUID.map { UUID(notification: $0) }
        environment = (data?.environment ?? summary?.environment ?? appData?.environment ?? token?.environment)?.rawValue.storable
        bundleID = (data?.bundleId ?? summary?.bundleId ?? token?.bundleId ?? appData?.bundleId)?.storable
    }

    /// What a transaction by itself says.
    init(_ transaction: JWSTransactionDecodedPayload) {
        self.init()
        environment = transaction.environment?.rawValue.storable
        bundleID = transaction.bundleId?.storable
        transactionID = transaction.transactionId?.storable
        originalTransactionID = transaction.originalTransactionId?.storable
    }

    /// What is known of a refused payload: something only when its signature was valid.
    init(_ rejection: Rejection) {
        if let notification = rejection.notification {
            self.init(notification)
        } else if let transaction = rejection.transaction {
            self.init(transaction)
        } else {
            self.init()
        }
    }
}

extension String {
    /// The text, or nil when it holds the one character that PostgreSQL's cannot, or is longer than an index takes: an outcome must never fail
    /// to be recorded. Apple's own are far below a hundred bytes.
    var storable: String? { utf8.contains(0) || utf8.count > 1000 ? nil : self }
}

extension VerifiedNotification {
    /// Whether a string in it holds the one character that PostgreSQL's text cannot.
    var containsNUL: Bool {
        let payloads = [notification.payloadBytes, transaction?.payloadBytes, renewalInfo?.payloadBytes, appTransaction?.payloadBytes]
        return payloads.contains { $0.map(JSONParser.containsNUL(in:)) ?? false }
    }
}
