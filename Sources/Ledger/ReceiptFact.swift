package import AppStore
package import FoundationEssentials
import OpenSSL

/// What one verified receipt, or verifyReceipt's answer, says about one charge: a fact of the receipt half.
package struct ReceiptFact: Charge, Sendable {
    package let key: LedgerKey
    /// receipt_creation_date, or request_date of an answer's newest part; then the form's rank, then the content.
    package let version: Version
    package let originalTransactionID: String
    package let bundleID: String
    package let productID: String
    package private(set) var purchaseDate: Timestamp
    package let content: Content

    /// The members that only some forms of a receipt have.
    package struct Content: Hashable, Sendable {
        package var webOrderLineItemID: String?
        package var originalPurchaseDate: Timestamp?
        package var expiresDate: Timestamp?
        package var quantity: Int32?
        /// When it was refunded or revoked; nil when ``isUpgraded``.
        package var revocationDate: Timestamp?
        package var revocationReason: RevocationReason?
        /// Whether another plan replaced it.
        package var isUpgraded = false
        package var offerType: OfferType?
        package var offerIdentifier: String?
        package var offerDiscountType: OfferDiscountType?
        /// Only in signed receipts.
        package var productType: ProductType?
        /// Only in `latest_receipt_info`, as are the next two.
        package var inAppOwnershipType: InAppOwnershipType?
        package var subscriptionGroupIdentifier: String?
        package var appAccountToken: UUID?

        package init() {}
    }

    /// Where the fact was read; of two facts of the same instant, the one of the higher rank counts.
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
        // The date is part of the digest, as in a signed payload: the merge compares only hashes to see whether a row holds this fact.
        let dates = [statedAt, purchaseDate].map { "\($0.millisecondsSince1970)" }
        let digest = Self.digest([originalTransactionID, bundleID, productID] + dates + content.words)
        // A fact that knows of the upgrade wins over one that reports a refund.
        version = Version(signedDate: statedAt, hash: [form.rawValue + (content.isUpgraded ? 4 : 0)] + digest)
        if isCopy { self.purchaseDate = content.originalPurchaseDate ?? purchaseDate }
    }

    /// SHA-256 of the content, joined by a byte that no verified fact contains.
    private static func digest(_ words: [String?]) -> [UInt8] {
        Digest.sha256(Array(words.map { $0 ?? "" }.joined(separator: "\u{0}").utf8))
    }

    /// Whether the charge belongs to a contract.
    package var isSubscription: Bool {
        content.productType?.isSubscription ?? (content.webOrderLineItemID != nil || content.expiresDate != nil)
    }

    package var isConsumable: Bool { content.productType == .consumable }

    package var webOrderLineItemID: String? { content.webOrderLineItemID }
}

extension ReceiptFact.Content {
    /// All members in a fixed order; nil becomes empty.
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
