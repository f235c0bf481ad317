/// Advanced Commerce: a coming price increase of an item.
package struct AdvancedCommercePriceIncreaseInfo: PayloadObject {
    package let dependentSKUs: [String]?
    /// In thousandths of the currency's unit.
    package let price: Int64?
    package let status: AdvancedCommercePriceIncreaseInfoStatus?

    package enum Member: String, CaseIterable {
        case dependentSKUs, price, status
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        dependentSKUs = try members.strings(.dependentSKUs)
        price = try members.integer(.price)
        status = try members.value(.status)
    }
}
