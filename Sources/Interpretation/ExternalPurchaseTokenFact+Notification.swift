import AppStore
import AppStoreVerification
import Ledger

extension ExternalPurchaseTokenFact {
    /// Nil for a notification of another type, and without the identifier by which a token is known.
    init?(_ verified: VerifiedNotification) {
        let notification = verified.notification.value
        guard let token = notification.externalPurchaseToken, let id = token.externalPurchaseId, let bundleID = verified.bundleID else {
            return nil
        }
        let hash = verified.notification.payloadHash
        self.init(
            key: LedgerKey(environment: verified.environment, id: id),
            version: Version(signedDate: verified.notification.signedDate, hash: notification.odd.isEmpty ? hash : Version.hashBelow(hash)),
            bundleID: bundleID,
            token: token,
            subtype: notification.subtype
        )
    }
}
