/// Advanced Commerce: an offer on an item.
package struct AdvancedCommerceOffer: PayloadObject {
    package let period: AdvancedCommerceOfferPeriod?
    package let periodCount: Int32?
    /// In thousandths of the currency's unit.
    package let price: Int64?
    package let reason: AdvancedCommerceOfferReason?

    package enum Member: String, CaseIterable {
        case period, periodCount, price, reason
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        period = try members.value(.period)
        periodCount = try members.integer32(.periodCount)
        price = try members.integer(.price)
        reason = try members.value(.reason)
    }
}
