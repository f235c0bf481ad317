import AppStore
package import AppStoreVerification
package import Ledger

extension OutboundCall {
    /// Asks verifyReceipt about a receipt that a client posted, which is genuine but not the newest.
    package static func verifyReceipt(about receipt: VerifiedReceipt, eventID: Int64) -> OutboundCall {
        verifyReceipt(receipt.bundleID, ContentDigest.hexadecimal(receipt.contentHash), eventID)
    }

    /// Asks verifyReceipt about the receipt of a notification V1, where only Apple can say what is in it: the iOS 6 style, or signed by
    /// certificates that we do not know. Nil when there is none, or one that is readable or none of Apple's by its form.
    package static func verifyReceipt(about notification: AuthenticNotificationV1, eventID: Int64) -> OutboundCall? {
        guard notification.receipt.isWorthAsking, let data = notification.body.receiptData else { return nil }
        return verifyReceipt(notification.bundleID, ContentDigest.ofBytes(Array(data.utf8)), eventID)
    }

    /// - Parameter contentHash: what makes two receipts the same, so that one that is posted twice is asked about once at a time.
    private static func verifyReceipt(_ bundleID: String, _ contentHash: String, _ eventID: Int64) -> OutboundCall {
        OutboundCall(
            kind: VerifyReceiptInterpreter.source,
            key: "\(bundleID):\(contentHash)",
            bundleID: bundleID,
            eventID: eventID
        )
    }
}
