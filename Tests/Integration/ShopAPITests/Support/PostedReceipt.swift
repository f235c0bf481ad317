import AppStore
import StoreSimulator

/// Receipts as a client posts them.
enum PostedReceipt {
    private static let now = Timestamp(millisecondsSince1970: 1_735_689_600_000)
    /// The receipts are never verified: short keys are generated faster.
    private static let signer = Result {
        ReceiptSigner(authority: try ReceiptAuthority.generate(AuthorityOptions(around: now), bitCount: 1024))
    }

    /// A receipt with these charges, in base64.
    static func base64(_ transactionIDs: [String]) throws -> String {
        var receipt = AppReceipt()
        receipt.receiptType = .production
        receipt.bundleID = "com.example.tides"
        receipt.creationDate = now
        receipt.purchases = transactionIDs.map { transactionID in
            var purchase = InAppPurchase()
            purchase.transactionID = transactionID
            purchase.originalTransactionID = transactionID
            purchase.productID = "pro.monthly"
            purchase.purchaseDate = now
            return purchase
        }
        return try signer.get().base64(receipt)
    }

    /// The body of a request with such a receipt.
    static func json(_ transactionIDs: [String], transactionID: String? = nil) throws -> String {
        let named = transactionID.map { #","transactionId":"\#($0)""# } ?? ""
        return #"{"receiptData":"\#(try base64(transactionIDs))","user":"ann"\#(named)}"#
    }
}
