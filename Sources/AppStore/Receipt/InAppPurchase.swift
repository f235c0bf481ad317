/// One purchase in an app receipt, from the attributes of type 17xx.
package struct InAppPurchase: Hashable, Sendable {
    /// Type 1701.
    package var quantity: Int64?
    /// Type 1702.
    package var productID: String?
    /// Type 1703.
    package var transactionID: String?
    /// Type 1704.
    package var purchaseDate: Timestamp?
    /// Type 1705; absent in Xcode's receipts.
    package var originalTransactionID: String?
    /// Type 1706.
    package var originalPurchaseDate: Timestamp?
    /// Type 1707, undocumented.
    package var productType: ReceiptProductType?
    /// Type 1708; subscriptions only.
    package var expiresDate: Timestamp?
    /// Type 1711, identifies one period of a subscription; nil for 0, as in other purchases.
    package var webOrderLineItemID: String?
    /// Type 1712: the date of a refund, a revocation or an upgrade; the receipt does not distinguish them.
    package var cancellationDate: Timestamp?
    /// Type 1713.
    package var isTrialPeriod: Bool?
    /// Type 1719.
    package var isInIntroOfferPeriod: Bool?
    /// Type 1721, the identifier of a promotional offer.
    package var promotionalOfferID: String?
    /// All other attributes, in the receipt's order.
    package var otherAttributes: [ReceiptAttribute] = []

    package init() {}
}

/// The kind of a purchased product. Apple does not document the numbers; they were observed in its receipts.
package struct ReceiptProductType: OpenValue {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static let nonConsumable = ReceiptProductType(rawValue: 0)
    package static let consumable = ReceiptProductType(rawValue: 1)
    package static let nonRenewingSubscription = ReceiptProductType(rawValue: 2)
    package static let autoRenewableSubscription = ReceiptProductType(rawValue: 3)

    package static let known: Set = [nonConsumable, consumable, nonRenewingSubscription, autoRenewableSubscription]
}
