import AppStore
package import AppStoreVerification
package import Ledger

extension OutboundCall {
    /// Asks verifyReceipt about a genuine receipt that a client posted; without an answer, the receipt itself is used.
    package static func verifyReceipt(about receipt: VerifiedReceipt, eventID: Int64) -> OutboundCall {
        verifyReceipt(
            receipt.bundleID,
            ContentDigest.hexadecimal(receipt.contentHash),
            eventID,
            fallback: EventSource.unansweredReceipt.rawValue
        )
    }

    /// Asks verifyReceipt about the receipt of a notification V1 that only Apple can read: an iOS 6 style receipt, or one signed by unknown
    /// certificates. Nil when there is no receipt, when it can be read here, and when it does not have the form of a receipt.
    package static func verifyReceipt(about notification: AuthenticNotificationV1, eventID: Int64) -> OutboundCall? {
        guard notification.receipt.mayBeValidForApple, let data = notification.body.receiptData else { return nil }
        return verifyReceipt(notification.bundleID, ContentDigest.ofBytes(Array(data.utf8)), eventID, fallback: nil)
    }

    private static func verifyReceipt(_ bundleID: String, _ contentHash: String, _ eventID: Int64, fallback: String?) -> OutboundCall {
        OutboundCall(
            kind: EventSource.verifyReceipt.rawValue,
            key: verifyReceiptKey(bundleID, contentHash),
            bundleID: bundleID,
            eventID: eventID,
            fallback: fallback
        )
    }

    /// - Parameter contentHash: identifies the receipt, so that a receipt that is posted twice has only one open call.
    static func verifyReceiptKey(_ bundleID: String, _ contentHash: String) -> String { "\(bundleID):\(contentHash)" }
}
