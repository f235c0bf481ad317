/// Advanced Commerce: one item of the next renewal.
package struct AdvancedCommerceRenewalItem: PayloadObject {
    package let sku: String?
    package let description: String?
    package let displayName: String?
    package let offer: AdvancedCommerceOffer?
    /// In thousandths of the currency's unit.
    package let price: Int64?
    package let priceIncreaseInfo: AdvancedCommercePriceIncreaseInfo?

    package enum Member: String, CaseIterable {
        case sku, description, displayName, offer, price, priceIncreaseInfo
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        sku = try members.identifier(.sku)
        description = try members.string(.description)
        displayName = try members.string(.displayName)
        offer = try members.object(.offer)
        price = try members.integer(.price)
        priceIncreaseInfo = try members.object(.priceIncreaseInfo)
    }
}
