import AppStore
package import AppStoreVerification
package import Ledger

extension OutboundCall {
    /// Asks verifyReceipt about a genuine receipt that a client posted; where there is no answer, the receipt speaks for itself.
    package static func verifyReceipt(about receipt: VerifiedReceipt, eventID: Int64) -> OutboundCall {
        verifyReceipt(
            receipt.bundleID,
            ContentDigest.hexadecimal(receipt.contentHash),
            eventID,
            fallback: UnansweredReceipt.source
        )
    }

    /// Asks verifyReceipt about the receipt of a notification V1, where only Apple can say what is in it: the iOS 6 style, or signed by
    /// certificates that we do not know. Nil when there is none, or one that is readable or none of Apple's by its form.
    package static func verifyReceipt(about notification: AuthenticNotificationV1, eventID: Int64) -> OutboundCall? {
        guard notification.receipt.isWorthAsking, let data = notification.body.receiptData else { return nil }
        return verifyReceipt(notification.bundleID, ContentDigest.ofBytes(Array(data.utf8)), eventID, fallback: nil)
    }

    private static func verifyReceipt(_ bundleID: String, _ contentHash: String, _ eventID: Int64, fallback: String?) -> OutboundCall {
        OutboundCall(
            kind: VerifyReceiptInterpreter.source,
            key: verifyReceiptKey(bundleID, contentHash),
            bundleID: bundleID,
            eventID: eventID,
            fallback: fallback
        )
    }

    /// - Parameter contentHash: what makes two receipts the same, so that one that is posted twice is asked about once at a time.
    static func verifyReceiptKey(_ bundleID: String, _ contentHash: String) -> String { "\(bundleID):\(contentHash)" }
}
