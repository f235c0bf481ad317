package import AppStore

/// Makes the app receipt of one customer.
package enum SimulatedReceipt {
    /// The receipt that the store makes at an instant, in whole seconds, with these transactions of one customer.
    ///
    /// The caller chooses the transactions. Apple leaves out finished consumables, and includes those shared by a family member.
    package static func receipt(of app: SimulatedApp, holding transactions: [SimulatedTransaction], madeAt instant: Timestamp) -> AppReceipt
    {
        var receipt = AppReceipt()
        let isSandbox = app.environment == .sandbox
        receipt.receiptType = isSandbox ? .productionSandbox : app.environment == .production ? .production : ReceiptType(app.environment)
        receipt.appItemID = isSandbox ? nil : app.appAppleID
        receipt.bundleID = app.bundleID
        receipt.applicationVersion = app.bundleVersion
        receipt.opaqueValue = Array("sixteen bytes...".utf8)
        receipt.sha1Hash = Array("twenty bytes of hash".utf8)
        receipt.creationDate = instant.floored
        let first = transactions.compactMap { $0.originalPurchaseDate }.min() ?? instant
        receipt.originalPurchaseDate = first.floored
        receipt.originalApplicationVersion = isSandbox ? "1.0" : app.bundleVersion
        receipt.purchases = transactions.map(InAppPurchase.init)
        return receipt
    }
}

extension ReceiptType {
    fileprivate init(_ environment: AppStoreEnvironment) { self.init(rawValue: environment.rawValue) }
}

extension InAppPurchase {
    /// A charge in a receipt, which has no attributes for the token, the ownership, the price and the reason of a revocation.
    package init(_ transaction: SimulatedTransaction) {
        self.init()
        quantity = Int64(transaction.quantity)
        productID = transaction.product.id
        transactionID = transaction.transactionID
        purchaseDate = transaction.purchaseDate.floored
        originalTransactionID = transaction.originalTransactionID
        originalPurchaseDate = transaction.originalPurchaseDate.floored
        productType = Self.types[transaction.product.type]
        expiresDate = transaction.expiresDate?.floored
        webOrderLineItemID = transaction.webOrderLineItemID
        cancellationDate = (transaction.revocation?.date ?? transaction.upgradedAt)?.floored
        isTrialPeriod = transaction.offer?.discountType == .freeTrial
        isInIntroOfferPeriod = transaction.offer?.type == .introductoryOffer && isTrialPeriod == false
        promotionalOfferID = transaction.offer?.type == .promotionalOffer ? transaction.offer?.identifier : nil
    }

    private static let types: [ProductType: ReceiptProductType] = [
        .nonConsumable: .nonConsumable, .consumable: .consumable, .nonRenewingSubscription: .nonRenewingSubscription,
        .autoRenewableSubscription: .autoRenewableSubscription,
    ]
}

extension Timestamp {
    /// This instant without its milliseconds.
    var floored: Timestamp { Timestamp(millisecondsSince1970: millisecondsSince1970 / 1000 * 1000) }
}
