package import AppStore
package import FoundationEssentials
import OpenSSL

/// What one verified receipt, or verifyReceipt's answer, says of one charge: a fact of the receipt half.
package struct ReceiptFact: Sendable {
    /// Found by environment and transaction_id.
    package let key: LedgerKey
    /// receipt_creation_date, or request_date of what is as new as the answer; then the form's rank, then what is said.
    package let version: Version
    package let originalTransactionID: String
    package let bundleID: String
    package let productID: String
    package let purchaseDate: Timestamp
    package let content: Content

    /// Whatever else some form of a receipt says of a charge.
    package struct Content: Hashable, Sendable {
        package var webOrderLineItemID: String?
        package var originalPurchaseDate: Timestamp?
        package var expiresDate: Timestamp?
        package var quantity: Int32?
        /// When it was paid back or taken away; nil when ``isUpgraded``, which is neither.
        package var revocationDate: Timestamp?
        package var revocationReason: RevocationReason?
        /// Whether another plan took its place.
        package var isUpgraded = false
        package var offerType: OfferType?
        package var offerIdentifier: String?
        package var offerDiscountType: OfferDiscountType?
        /// Only in signed receipts.
        package var productType: ProductType?
        /// Only in `latest_receipt_info`, and so are the next two.
        package var inAppOwnershipType: InAppOwnershipType?
        package var subscriptionGroupIdentifier: String?
        package var appAccountToken: UUID?

        package init() {}
    }

    /// Where it was said; of two statements of one instant that of the higher rank says more.
    package enum Form: UInt8, Sendable {
        case signedReceipt = 1
        case inApp = 2
        case latestReceiptInfo = 3
    }

    package init(
        key: LedgerKey,
        statedAt: Timestamp,
        form: Form,
        originalTransactionID: String,
        bundleID: String,
        productID: String,
        purchaseDate: Timestamp,
        content: Content
    ) {
        self.key = key
        self.originalTransactionID = originalTransactionID
        self.bundleID = bundleID
        self.productID = productID
        self.purchaseDate = purchaseDate
        self.content = content
        // With its date, as in a signed payload: who merges it tells by the hash alone whether a row holds this statement.
        let dates = [statedAt, purchaseDate].map { "\($0.millisecondsSince1970)" }
        let digest = Self.digest([originalTransactionID, bundleID, productID] + dates + content.words)
        // Who knows that it was an upgrade knows more than who calls it a refund.
        version = Version(signedDate: statedAt, hash: [form.rawValue + (content.isUpgraded ? 4 : 0)] + digest)
    }

    /// SHA-256 of what is said, whatever it was written in; of words joined by a byte that no verified fact contains.
    private static func digest(_ words: [String?]) -> [UInt8] {
        Digest.sha256(Array(words.map { $0 ?? "" }.joined(separator: "\u{0}").utf8))
    }

    /// Whether the charge belongs to a contract.
    package var isSubscription: Bool {
        content.productType == .autoRenewableSubscription
            || (content.productType == nil && (content.webOrderLineItemID != nil || content.expiresDate != nil))
    }

    /// The order number of the period that it pays, when no token pays for it: the same as that of the charge's JWS.
    package var periodNumber: UUID {
        if isSubscription, let lineItem = content.webOrderLineItemID {
            return OrderNumber.ofPeriod(
                environment: key.environment,
                originalTransactionID: originalTransactionID,
                webOrderLineItemID: lineItem
            )
        }
        return OrderNumber.ofCharge(environment: key.environment, transactionID: key.id)
    }
}

extension ReceiptFact.Content {
    /// All of it in a fixed order; what is nil is empty.
    fileprivate var words: [String?] {
        let dates = [originalPurchaseDate, expiresDate, revocationDate].map { $0.map { "\($0.millisecondsSince1970)" } }
        let numbers = [quantity, revocationReason?.rawValue, offerType?.rawValue].map { $0.map { "\($0)" } }
        let names = [
            webOrderLineItemID, offerIdentifier, offerDiscountType?.rawValue, productType?.rawValue, inAppOwnershipType?.rawValue,
            subscriptionGroupIdentifier, appAccountToken?.uuidString, isUpgraded ? "upgraded" : nil,
        ]
        return dates + numbers + names
    }
}
