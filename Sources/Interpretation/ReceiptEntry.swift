import AppStore
import Ledger

/// One purchase in a receipt, independent of the receipt's form.
struct ReceiptEntry {
    var transactionID: String?
    var originalTransactionID: String?
    var productID: String?
    var purchaseDate: Timestamp?
    /// When it was refunded, revoked or replaced by an upgrade.
    var cancellationDate: Timestamp?
    var cancellationReason: RevocationReason?
    var isUpgraded: Bool
    /// Whether a member that the ledger needs was given and cannot be read.
    var isUnreadable = false
    /// Everything that can be copied as it is; the cancellation is left out.
    var content: ReceiptFact.Content
}

extension ReceiptEntry {
    /// In a signed receipt.
    init(_ purchase: InAppPurchase) {
        transactionID = purchase.transactionID
        originalTransactionID = purchase.originalTransactionID
        productID = purchase.productID
        purchaseDate = purchase.purchaseDate
        cancellationDate = purchase.cancellationDate
        isUpgraded = false
        content = ReceiptFact.Content()
        content.webOrderLineItemID = purchase.webOrderLineItemID
        content.originalPurchaseDate = purchase.originalPurchaseDate
        content.expiresDate = purchase.expiresDate
        content.quantity = purchase.quantity.flatMap { Int32(exactly: $0) }
        content.productType = Self.productType(of: purchase)
        setOffer(
            isTrial: purchase.isTrialPeriod,
            isIntroductory: purchase.isInIntroOfferPeriod,
            promotionalOfferID: purchase.promotionalOfferID,
            offerCode: nil
        )
    }

    /// In an answer of verifyReceipt.
    init(_ transaction: ReceiptTransaction) {
        transactionID = transaction.transactionID
        originalTransactionID = transaction.originalTransactionID
        productID = transaction.productID
        purchaseDate = transaction.purchaseDate
        cancellationDate = transaction.cancellationDate
        cancellationReason = transaction.cancellationReason
        isUpgraded = transaction.isUpgraded ?? false
        isUnreadable = transaction.isUnreadable
        content = ReceiptFact.Content()
        content.webOrderLineItemID = transaction.webOrderLineItemID.flatMap { $0 == "0" ? nil : $0 }
        content.originalPurchaseDate = transaction.originalPurchaseDate
        content.expiresDate = transaction.expiresDate
        content.quantity = transaction.quantity.flatMap { Int32(exactly: $0) }
        content.inAppOwnershipType = transaction.inAppOwnershipType
        content.subscriptionGroupIdentifier = transaction.subscriptionGroupIdentifier
        content.appAccountToken = transaction.appAccountToken
        setOffer(
            isTrial: transaction.isTrialPeriod,
            isIntroductory: transaction.isInIntroOfferPeriod,
            promotionalOfferID: transaction.promotionalOfferID,
            offerCode: transaction.offerCodeRefName
        )
    }

    /// The first missing member that the ledger needs.
    var missingMember: String? {
        if transactionID == nil { return "transaction_id" }
        if productID == nil { return "product_id" }
        return purchaseDate == nil ? "purchase_date" : nil
    }

    /// The contract; the purchase itself where the receipt names none, as Xcode's do.
    var contract: String? { originalTransactionID ?? transactionID }

    /// Apple does not document the type: a type that contradicts members which only subscriptions have is ignored.
    private static func productType(of purchase: InAppPurchase) -> ProductType? {
        let type: ProductType? =
            switch purchase.productType {
            case .nonConsumable: .nonConsumable
            case .consumable: .consumable
            case .nonRenewingSubscription: .nonRenewingSubscription
            case .autoRenewableSubscription: .autoRenewableSubscription
            default: nil
            }
        let isPeriod = purchase.webOrderLineItemID != nil && purchase.expiresDate != nil
        return isPeriod && type != .autoRenewableSubscription ? nil : type
    }

    private mutating func setOffer(isTrial: Bool?, isIntroductory: Bool?, promotionalOfferID: String?, offerCode: String?) {
        if let promotionalOfferID {
            content.offerType = .promotionalOffer
            content.offerIdentifier = promotionalOfferID
        } else if let offerCode {
            content.offerType = .offerCode
            content.offerIdentifier = offerCode
        } else if isTrial == true || isIntroductory == true {
            content.offerType = .introductoryOffer
        }
        if isTrial == true { content.offerDiscountType = .freeTrial }
    }
}
