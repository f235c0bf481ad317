package import FoundationEssentials
package import StrictJSON

/// What the Advanced Commerce API adds to a subscription: one item that the developer names and prices.
package struct AdvancedCommerceDetails: Hashable, Sendable {
    package var requestReferenceID: UUID
    package var sku: String
    package var displayName: String
    package var itemDescription: String
    package var taxCode: String
    /// ISO 8601, one of Apple's six.
    package var period: String
    /// The announced price of the next renewal.
    package var scheduledPrice: Int64?

    private var descriptors: JSONObject { ["description": .string(itemDescription), "displayName": .string(displayName)] }
    private var item: JSONObject {
        ["SKU": .string(sku), "description": .string(itemDescription), "displayName": .string(displayName)]
    }

    /// `advancedCommerceInfo` of a transaction (AdvancedCommerceTransactionInfo).
    package func transactionInfo(price: Int64) -> JSONObject {
        var item = item
        item.add("price", price)
        var info: JSONObject = ["descriptors": .object(descriptors), "items": [.object(item)], "period": .string(period)]
        info.add("requestReferenceId", requestReferenceID)
        info.add("taxCode", taxCode)
        info.add("taxExclusivePrice", price)
        info.add("taxRate", "0")
        return info
    }

    /// `advancedCommerceInfo` of a renewal info (AdvancedCommerceRenewalInfo).
    package func renewalInfo(price: Int64) -> JSONObject {
        var item = item
        item.add("price", price)
        if let scheduledPrice {
            item.add("priceIncreaseInfo", ["price": .integer(scheduledPrice), "status": "SCHEDULED"] as JSONObject)
        }
        var info: JSONObject = ["descriptors": .object(descriptors), "items": [.object(item)], "period": .string(period)]
        info.add("requestReferenceId", requestReferenceID)
        info.add("taxCode", taxCode)
        return info
    }
}
