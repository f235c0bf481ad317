package import AppStore
package import FoundationEssentials
import OpenSSL

/// What each fact about one transaction says of the purchase that it belongs to.
///
/// A purchase is what the customer bought once: a period of a subscription, a product that is kept, or a consumable. Apple makes further
/// transactions of a purchase, *copies*, when it is restored or moves to another device.
package protocol Charge {
    /// Found by environment and transactionId.
    var key: LedgerKey { get }
    var originalTransactionID: String { get }
    var productID: String { get }
    /// When the purchase was made. Of a copy it is the originalPurchaseDate: Apple gives the date of the restore as its purchaseDate.
    var purchaseDate: Timestamp { get }
    /// The webOrderLineItemId: the period that it pays, if it is one.
    var webOrderLineItemID: String? { get }
    /// Whether it is a period of an auto-renewable subscription.
    var isSubscription: Bool { get }
    var isConsumable: Bool { get }
}

extension Charge {
    /// The period that it pays; nil when it is none, or does not say.
    package var lineItemID: String? { isSubscription ? webOrderLineItemID : nil }

    /// The order number of the purchase when no token names an order; equal for all facts about the purchase.
    package var periodNumber: UUID { periodNumber(isSubscription: isSubscription, isConsumable: isConsumable) }

    /// The same, where other facts have the type.
    func periodNumber(isSubscription: Bool, isConsumable: Bool) -> UUID {
        if isSubscription, let lineItemID = webOrderLineItemID {
            return OrderNumber.ofPeriod(
                environment: key.environment,
                originalTransactionID: originalTransactionID,
                webOrderLineItemID: lineItemID
            )
        }
        let id = isSubscription || isConsumable ? key.id : originalTransactionID
        return OrderNumber.ofCharge(environment: key.environment, transactionID: id)
    }

    /// The name of the purchase within its environment, in the subjects of effects: contract and period, or a transactionId.
    package var purchase: String {
        lineItemID.map { "\(originalTransactionID)/\($0)" } ?? purchaseID
    }

    /// The transactionId of the purchase's first transaction. Only a consumable has no copies, and a period without its number cannot be told
    /// from another one.
    private var purchaseID: String { isSubscription || isConsumable ? key.id : originalTransactionID }

    /// Whether another transaction of the same purchase came before it, as the ids say. The copy of a period does not say so.
    package var isCopy: Bool { lineItemID == nil && purchaseID != key.id }
}

/// What one verified payload says about one charge.
package struct TransactionFact: Charge, Sendable {
    package let key: LedgerKey
    package let version: Version
    package let originalTransactionID: String
    package let bundleID: String
    package let productID: String
    package private(set) var purchaseDate: Timestamp
    private let shared: SharedValue<JWSTransactionDecodedPayload>
    /// The whole payload.
    package var payload: JWSTransactionDecodedPayload { _read { yield shared.value } }

    /// Throws ``IncompleteFact`` when a member is missing that the ledger needs.
    package init(_ payload: JWSTransactionDecodedPayload, environment: AppStoreEnvironment, version: Version) throws(IncompleteFact) {
        func required<Value>(_ value: Value?, _ member: String) throws(IncompleteFact) -> Value {
            guard let value else { throw IncompleteFact(missing: member) }
            return value
        }
        key = LedgerKey(environment: environment, id: try required(payload.transactionId, "transactionId"))
        originalTransactionID = try required(payload.originalTransactionId, "originalTransactionId")
        bundleID = try required(payload.bundleId, "bundleId")
        productID = try required(payload.productId, "productId")
        let charged = try required(payload.purchaseDate, "purchaseDate")
        self.version = version
        shared = SharedValue(payload)
        purchaseDate = charged
        if isCopy { purchaseDate = payload.originalPurchaseDate ?? charged }
    }

    /// Whether the charge belongs to a contract.
    package var isSubscription: Bool {
        payload.type?.isSubscription
            ?? (payload.webOrderLineItemId != nil || (payload.expiresDate != nil && payload.subscriptionGroupIdentifier != nil))
    }

    /// Whether the customer paid for it; else it is shared, assigned, or theirs in a way that this version does not know.
    package var isPurchased: Bool { payload.inAppOwnershipType?.isPurchase ?? true }

    /// Whether its revocation, if it has one, gave money back.
    package var isRefund: Bool { isPurchased && payload.revocationType?.isRefund ?? true }

    /// What was paid, in thousandths of the currency's unit; see `appstoreserverapi/transactionmultiseatinfo`.
    ///
    /// Of seats of a group it is the sum of their tiers, since `price` is then the average for one seat, rounded. Without readable tiers that
    /// average counts for each seat. Several of any other product have one price together.
    package var price: Int64? {
        if let total = payload.multiSeatInfo?.total { return total }
        guard isSubscription, let price = payload.price, let quantity = payload.quantity, quantity > 1 else { return payload.price }
        let (product, overflow) = price.multipliedReportingOverflow(by: Int64(quantity))
        return overflow ? price : product
    }

    package var isConsumable: Bool { payload.type == .consumable }

    package var webOrderLineItemID: String? { payload.webOrderLineItemId }
}

/// A verified payload that lacks a member that the ledger needs.
package struct IncompleteFact: Error, Hashable, Sendable {
    /// The member's name, such as `purchaseDate`.
    package let missing: String
}

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
