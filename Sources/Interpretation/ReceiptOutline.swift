import AppStore
import AppStoreVerification
import Ledger
import StrictJSON

/// What a posted receipt says before it is verified: enough to look up its charges in the ledger.
package struct ReceiptOutline: Hashable, Sendable {
    /// The charges in it, each once and in its order.
    package let transactionIDs: [String]
    /// The key of the call that asks Apple about the receipt, if there is one; nil when the receipt names no app.
    package let callKey: String?

    /// Nil for a receipt that cannot be read; the worker ignores it, too.
    ///
    /// - Parameter receiptData: as it was posted.
    package init?(receiptData: String) {
        guard case .appReceipt(let encoding) = ReceiptInput(Array(receiptData.utf8)[...]) else { return nil }
        do {
            let content = try SignedReceipt(encoding[...]).content
            let receipt = try AppReceipt(content: content)
            var seen: Set<String> = []
            transactionIDs = receipt.purchases.compactMap(\.transactionID).filter { !$0.hasNUL && seen.insert($0).inserted }
            callKey = receipt.bundleID.map { OutboundCall.verifyReceiptKey($0, ContentDigest.ofBytes(content)) }
        } catch {
            return nil
        }
    }
}
