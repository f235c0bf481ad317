import AppStore
import AppStoreVerification
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
}
