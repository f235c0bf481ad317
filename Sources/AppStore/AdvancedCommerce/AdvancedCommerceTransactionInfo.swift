/// Advanced Commerce: what one transaction charged for.
package struct AdvancedCommerceTransactionInfo: PayloadObject {
    package let descriptors: AdvancedCommerceDescriptors?
    /// In thousandths of the currency's unit.
    package let estimatedTax: Int64?
    package let items: [AdvancedCommerceTransactionItem]?
    package let period: AdvancedCommercePeriod?
    package let requestReferenceId: String?
    package let taxCode: String?
    /// In thousandths of the currency's unit.
    package let taxExclusivePrice: Int64?
    package let taxRate: String?

    package enum Member: String, CaseIterable {
        case descriptors, estimatedTax, items, period, requestReferenceId, taxCode, taxExclusivePrice, taxRate
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        descriptors = try members.object(.descriptors)
        estimatedTax = try members.integer(.estimatedTax)
        items = try members.objects(.items)
        period = try members.value(.period)
        requestReferenceId = try members.identifier(.requestReferenceId)
        taxCode = try members.string(.taxCode)
        taxExclusivePrice = try members.integer(.taxExclusivePrice)
        taxRate = try members.string(.taxRate)
    }
}
