/// Advanced Commerce: what the next renewal will charge for.
package struct AdvancedCommerceRenewalInfo: PayloadObject {
    package let consistencyToken: String?
    package let descriptors: AdvancedCommerceDescriptors?
    package let items: [AdvancedCommerceRenewalItem]?
    package let period: AdvancedCommercePeriod?
    package let requestReferenceId: String?
    package let taxCode: String?

    package enum Member: String, CaseIterable {
        case consistencyToken, descriptors, items, period, requestReferenceId, taxCode
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        consistencyToken = try members.string(.consistencyToken)
        descriptors = try members.object(.descriptors)
        items = try members.objects(.items)
        period = try members.value(.period)
        requestReferenceId = try members.identifier(.requestReferenceId)
        taxCode = try members.string(.taxCode)
    }
}
