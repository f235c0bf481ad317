package import AppStore

/// A member of a transaction that cannot change: a newer JWS without it does not erase what is known. The raw value is its column.
package enum LastingMember: String, CaseIterable, Sendable {
    case productType = "product_type"
    case inAppOwnershipType = "in_app_ownership_type"
    case subscriptionGroupIdentifier = "subscription_group_identifier"
    case quantity
    case originalPurchaseDate = "original_purchase_date"
    case price
    case currency
    case storefront
    case storefrontID = "storefront_id"
    case transactionReason = "transaction_reason"
    case offerType = "offer_type"
    case offerIdentifier = "offer_identifier"
    case offerDiscountType = "offer_discount_type"
    case offerPeriod = "offer_period"
    case appTransactionID = "app_transaction_id"
    case previousOriginalTransactionID = "previous_original_transaction_id"

    package func isIn(_ payload: JWSTransactionDecodedPayload) -> Bool {
        switch self {
        case .productType: payload.type != nil
        case .inAppOwnershipType: payload.inAppOwnershipType != nil
        case .subscriptionGroupIdentifier: payload.subscriptionGroupIdentifier != nil
        case .quantity: payload.quantity != nil
        case .originalPurchaseDate: payload.originalPurchaseDate != nil
        case .price: payload.price != nil || payload.multiSeatInfo?.total != nil
        case .currency: payload.currency != nil
        case .storefront: payload.storefront != nil
        case .storefrontID: payload.storefrontId != nil
        case .transactionReason: payload.transactionReason != nil
        case .offerType: payload.offerType != nil
        case .offerIdentifier: payload.offerIdentifier != nil
        case .offerDiscountType: payload.offerDiscountType != nil
        case .offerPeriod: payload.offerPeriod != nil
        case .appTransactionID: payload.appTransactionId != nil
        case .previousOriginalTransactionID: payload.previousOriginalTransactionId != nil
        }
    }

    /// Whether receipts say it; false for members for which receipts do not count beside a JWS.
    package func isIn(_ receipts: ReceiptHalf) -> Bool {
        switch self {
        case .productType: receipts.productType != nil
        case .inAppOwnershipType: receipts.inAppOwnershipType != nil
        case .subscriptionGroupIdentifier: receipts.subscriptionGroupIdentifier != nil
        case .quantity: receipts.latest.content.quantity != nil
        case .originalPurchaseDate: receipts.latest.content.originalPurchaseDate != nil
        case .price, .currency, .storefront, .storefrontID, .transactionReason, .offerType, .offerIdentifier, .offerDiscountType,
            .offerPeriod, .appTransactionID, .previousOriginalTransactionID:
            false
        }
    }
}
