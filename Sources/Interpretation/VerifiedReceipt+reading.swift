import AppStore
package import AppStoreVerification
import Ledger

extension VerifiedReceipt {
    /// What the receipt says, as of when Apple made it.
    func reading(classifiedBy unproven: [ReceiptTransaction] = []) -> ReceiptReading {
        ReceiptReading(
            receipt.purchases.map(ReceiptEntry.init),
            from: ReceiptReading.Source(environment: environment, bundleID: bundleID, form: .signedReceipt, statedAt: creationDate),
            classifiedBy: unproven
        )
    }

    /// Whether a text for the ledger contains U+0000, which PostgreSQL cannot store.
    package var containsNUL: Bool {
        let texts = receipt.purchases.lazy.flatMap { [$0.transactionID, $0.originalTransactionID, $0.productID, $0.promotionalOfferID] }
        return bundleID.utf8.contains(0) || texts.contains { $0?.utf8.contains(0) ?? false }
    }
}
