import AppStore
import AppStoreVerification
import Handlers
import Inbox

extension OutcomeLabels {
    init(_ verified: VerifiedNotification) {
        self.init(verified.notification.value)
        environment = verified.environment.rawValue
        bundleID = verified.bundleID
        transactionID = verified.transaction?.value.transactionId
        originalTransactionID = verified.contract
    }

    /// What the outer payload alone says: for a notification whose signature was valid and which was refused all the same.
    init(_ notification: ResponseBodyV2DecodedPayload) {
        self.init()
        notificationType = notification.notificationType?.rawValue
        subtype = notification.subtype?.rawValue
        notificationUUID = notification.notificationUUID
        environment = (notification.data?.environment ?? notification.summary?.environment ?? notification.appData?.environment)?.rawValue
        bundleID =
            notification.data?.bundleId ?? notification.summary?.bundleId ?? notification.externalPurchaseToken?.bundleId
            ?? notification.appData?.bundleId
    }
}

extension VerifiedNotification {
    /// Whether a string in it holds the one character that PostgreSQL's text cannot.
    var containsNUL: Bool {
        let payloads = [notification.payloadBytes, transaction?.payloadBytes, renewalInfo?.payloadBytes, appTransaction?.payloadBytes]
        return payloads.contains { $0.map(JSONParser.containsNUL(in:)) ?? false }
    }
}
