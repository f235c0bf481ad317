import AppStore
import AppStoreVerification
import Ledger

/// What a posted receipt says of itself before anybody has verified it: enough to ask the books what has become of it.
package struct ReceiptOutline: Hashable, Sendable {
    /// The charges in it, each once and in its order.
    package let transactionIDs: [String]
    /// What the question to Apple about it is known by, where one is asked; nil when it names no app.
    package let questionKey: String?

    /// Nil for what cannot be read, of which the worker takes nothing either.
    ///
    /// - Parameter receiptData: as it was posted.
    package init?(receiptData: String) {
        guard case .appReceipt(let encoding) = ReceiptInput(Array(receiptData.utf8)[...]) else { return nil }
        do {
            let content = try SignedReceipt(encoding[...]).content
            let receipt = try AppReceipt(content: content)
            var seen: Set<String> = []
            transactionIDs = receipt.purchases.compactMap(\.transactionID).filter { !$0.utf8.contains(0) && seen.insert($0).inserted }
            questionKey = receipt.bundleID.map { OutboundCall.verifyReceiptKey($0, ContentDigest.ofBytes(content)) }
        } catch {
            return nil
        }
    }
}
