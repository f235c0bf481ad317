extension InAppPurchase {
    /// Decodes the value of an attribute of type 17.
    init(_ reader: BERReader) throws(MalformedReceipt) {
        var attributes = try AppReceipt.reading("") { () throws(ASN1Error) in try ReceiptAttributes(reader) }
        self.init()
        // One bit for each type that was read.
        var seen: UInt64 = 0
        while try attributes.withNext({ type, version, value throws(MalformedReceipt) in
            let bit: UInt64 = (1701...1764).contains(type) ? 1 << UInt64(type - 1701) : 0
            do throws(MalformedReceipt) {
                if seen & bit == 0, try take(type, value) {
                    seen |= bit
                    return
                }
            } catch {
                guard !Self.essentialTypes.contains(type) else { throw error }
                seen |= bit
            }
            otherAttributes.append(ReceiptAttribute(type: type, version: version, value: value.remainder))
        }) != nil {}
    }

    private static let essentialTypes: ClosedRange<Int64> = 1701...1712

    /// Returns false for an unknown type.
    private mutating func take(_ type: Int64, _ reader: BERReader) throws(MalformedReceipt) -> Bool {
        var value = reader
        switch type {
        case 1701: quantity = try AppReceipt.integer("quantity", &value)
        case 1702: productID = try AppReceipt.text("product_id", &value)
        case 1703: transactionID = try AppReceipt.text("transaction_id", &value)
        case 1704: purchaseDate = try AppReceipt.date("purchase_date", &value)
        case 1705: originalTransactionID = try AppReceipt.text("original_transaction_id", &value)
        case 1706: originalPurchaseDate = try AppReceipt.date("original_purchase_date", &value)
        case 1707: productType = try AppReceipt.integer("type", &value).map(ReceiptProductType.init)
        case 1708: expiresDate = try AppReceipt.date("expires_date", &value)
        case 1711: webOrderLineItemID = try AppReceipt.number("web_order_line_item_id", &value).map { String($0) }
        case 1712: cancellationDate = try AppReceipt.date("cancellation_date", &value)
        case 1713: isTrialPeriod = try AppReceipt.integer("is_trial_period", &value).map { $0 != 0 }
        case 1719: isInIntroOfferPeriod = try AppReceipt.integer("is_in_intro_offer_period", &value).map { $0 != 0 }
        case 1721: promotionalOfferID = try AppReceipt.text("promotional_offer_id", &value)
        default: return false
        }
        return true
    }
}
