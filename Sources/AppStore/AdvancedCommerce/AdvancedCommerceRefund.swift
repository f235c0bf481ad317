/// Advanced Commerce: one refund of an item.
package struct AdvancedCommerceRefund: PayloadObject {
    /// In thousandths of the currency's unit.
    package let refundAmount: Int64?
    package let refundDate: Timestamp?
    package let refundReason: AdvancedCommerceRefundReason?
    package let refundType: AdvancedCommerceRefundType?

    package enum Member: String, CaseIterable {
        case refundAmount, refundDate, refundReason, refundType
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        refundAmount = try members.integer(.refundAmount)
        refundDate = try members.timestamp(.refundDate)
        refundReason = try members.value(.refundReason)
        refundType = try members.value(.refundType)
    }
}
